/** Decides whether the attributes of an action that is being written are scripts or literals (document 5, 5.4). */
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { parseScript } from '../../../../sandbox/parse.ts'
import type { ValueType } from '../../model.ts'
import { type ActionTypeDefinition, type Attribute, literalValue } from '../action-types/action-type.ts'
import type { Deps } from './deps.ts'
import { checkScript } from './scripts.ts'

type Fields = Record<string, unknown>

/** Checks all attributes. Returns the type of each given attribute. `chosen` contains the types that the caller has chosen. */
export async function checkAttributes(
  deps: Pick<Deps, 'check'>,
  ctx: Ctx,
  definition: ActionTypeDefinition,
  fields: Fields,
  chosen: Record<string, ValueType> = {},
): Promise<Record<string, ValueType>> {
  const { attributes } = definition
  for (const name of Object.keys(chosen))
    if (!Object.hasOwn(attributes, name))
      throw invalidField('valueTypes', `${name} is not a constant or expression of a ${definition.type} action`)
  const types: Record<string, ValueType> = {}
  for (const [name, attribute] of Object.entries(attributes)) {
    const text = fields[name]
    if (typeof text !== 'string') continue
    const type = chosen[name] ?? typeOf(text)
    if (type === 'SCRIPT') await checkScript(deps, ctx, name, text)
    else checkLiteral(name, attribute, text, chosen[name] === undefined)
    types[name] = type
  }
  return types
}

function typeOf(text: string): ValueType {
  const parsed = parseScript(text)
  return parsed.ok && parsed.hasOwnReturn ? 'SCRIPT' : 'LITERAL'
}

function checkLiteral(name: string, { literal, problem }: Attribute, text: string, isGuessed: boolean) {
  const parsed = literalValue(literal, text)
  const wrong = parsed ? problem?.(parsed.value) : `expected the JSON of an ${literal}, or a script`
  if (wrong) throw invalidField(name, isGuessed ? wrong + scriptHint(text) : wrong)
}

/**
 * Returns a hint if a text looks like a script but has a syntax error: the text counts as a literal only because it cannot be parsed. The
 * hint contains the position.
 */
function scriptHint(text: string): string {
  if (!/\breturn\b/.test(text)) return ''
  const parsed = parseScript(text)
  return parsed.ok
    ? ''
    : `; it is not a script, because of line ${parsed.line}, column ${parsed.column}: ${parsed.message}`
}
