import { doubleText, floatText, textOf } from '../text.ts'
import type { Compiled, Frame } from './context.ts'

/** Builds the closure that prints an operand of a concatenation. */
export function stringifier({ type, run }: Compiled): (frame: Frame) => string {
  switch (type.name) {
    case 'java.lang.String':
      return (frame) => (run(frame) as string | null) ?? 'null'
    case 'char':
      return (frame) => String.fromCharCode(run(frame) as number)
    case 'double':
      return (frame) => doubleText(run(frame) as number)
    case 'float':
      return (frame) => floatText(run(frame) as number)
    default:
      return (frame) => textOf(run(frame))
  }
}
