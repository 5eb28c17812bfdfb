/** Types of operations by name: `ArgumentsOf<'endpoints.list'>`. */
import type { Nouns } from '../../../sdk/src/operations.ts'
import type { AnswersOf, List, Shaped } from '../../../sdk/src/types.ts'

type Names<N, Prefix extends string = ''> = {
  [K in keyof N & string]: N[K] extends (...args: never[]) => unknown ? `${Prefix}${K}` : Names<N[K], `${Prefix}${K}.`>
}[keyof N & string]

/** Every operation, such as `endpoints.list`. */
export type OperationName = Names<Nouns>

type At<N, Path> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof N
    ? At<N[Head], Rest>
    : never
  : Path extends keyof N
    ? N[Path]
    : never

type FunctionOf<P extends OperationName> = Extract<At<Nouns, P>, (...args: never[]) => unknown>

export type ArgumentsOf<P extends OperationName> = NonNullable<Parameters<FunctionOf<P>>[0]>

/** Operations that return a list. */
export type ListName = {
  [P in OperationName]: FunctionOf<P> extends (...args: never[]) => List<infer _> ? P : never
}[OperationName]
/** Operations that do not return a list. */
export type CallName = {
  [P in OperationName]: FunctionOf<P> extends (...args: never[]) => List<infer _> ? never : P
}[OperationName]

export type ItemOf<P extends ListName> = FunctionOf<P> extends (...args: never[]) => List<infer T> ? T : never

/** Type of the body of the response of an operation. */
export type BodyOf<P extends OperationName> =
  FunctionOf<P> extends Shaped<infer _, infer _> ? ValueOf<AnswersOf<FunctionOf<P>>> : never
type ValueOf<R> = R[keyof R]
