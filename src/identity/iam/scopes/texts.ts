/** Describes in a sentence what a scope permits. Names of scopes have the form container, object, verb (`application:endpoint:create`). */

const verbs: Record<string, string> = {
  create: 'Create',
  read: 'Read',
  update: 'Change',
  delete: 'Delete',
  execute: 'Run',
  cancel: 'Cancel',
}

const plural = (noun: string) => {
  if (noun.endsWith('s')) return noun
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
}

/** Containers that the sentence does not mention. The platform and the tenant contain everything, and `identity` is only an area. */
const withoutContainer = new Set(['platform', 'tenant', 'identity'])

/** Returns the sentence for a scope. `nouns` contains the plural of objects whose plural cannot be derived from the name. */
export function sentenceOf(scope: string, nouns: ReadonlyMap<string, string>): string {
  const parts = scope.split(':')
  const verb = parts.at(-1) ?? ''
  const thing = parts.at(-2) ?? ''
  const container = parts.at(-3)
  const things = nouns.get(thing) ?? plural(thing.replaceAll('-', ' '))
  const resources = [
    container === undefined || withoutContainer.has(container)
      ? ''
      : ` of ${nouns.get(container) ?? plural(container.replaceAll('-', ' '))}`,
    parts[0] === 'platform' ? ' on the whole platform' : '',
  ].join('')
  return `${Object.hasOwn(verbs, verb) ? verbs[verb] : verb} ${things}${resources}.`
}

/** Returns where a caller must have the scope: on the platform, on the tenant, or on a resource (or on something that contains it). */
export function levelOf(scope: string): 'platform' | 'tenant' | 'resource' {
  const [first] = scope.split(':')
  if (first === 'platform') return 'platform'
  return first === 'tenant' || first === 'identity' ? 'tenant' : 'resource'
}
