/** Decides whether the attributes of an action that is being written are scripts or literals (document 5, 5.4). */
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { type Checked, failureText } from '../../../../sandbox/outcome.ts'
import type { ValueType } from '../../model.ts'
import { type ActionTypeDefinition, type Attribute, literalValue } from '../action-types/action-type.ts'
import type { Deps } from './deps.ts'
import { checkedScript, checkScript } from './scripts.ts'

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
    types[name] = chosen[name] ?? (await typeOf(deps, ctx, name, attribute, text))
    if (chosen[name] === 'SCRIPT') await checkScript(deps, ctx, name, text)
    if (chosen[name] === 'LITERAL') checkLiteral(name, attribute, text)
  }
  return types
}

/** Returns the type of a text for which the caller has chosen none, and checks the text. */
async function typeOf(
  deps: Pick<Deps, 'check'>,
  ctx: Ctx,
  name: string,
  attribute: Attribute,
  text: string,
): Promise<ValueType> {
  const checked = /\breturn\b/.test(text) ? await checkedScript(deps, ctx, text) : undefined
  if (!checked?.hasOwnReturn) {
    checkLiteral(name, attribute, text, checked)
    return 'LITERAL'
  }
  if (!checked.ok) throw invalidField(name, failureText(checked))
  return 'SCRIPT'
}

function checkLiteral(name: string, { literal, problem }: Attribute, text: string, checked?: Checked) {
  const parsed = literalValue(literal, text)
  const wrong = parsed ? problem?.(parsed.value) : `expected the JSON of an ${literal}, or a script`
  if (wrong) throw invalidField(name, wrong + scriptHint(checked))
}

/**
 * Returns a hint if a text looks like a script but has a syntax error: the text counts as a literal only because it cannot be parsed. The
 * hint contains the position.
 */
function scriptHint(checked: Checked | undefined): string {
  return !checked || checked.ok
    ? ''
    : `; it is not a script, because of line ${checked.line}, column ${checked.column}: ${checked.message}`
}
