/** The syntax tree of a script. `at` is the offset in the source at which errors of a node are reported. */

export interface TypeName {
  at: number
  name: string
}

export interface Parameter {
  type: TypeName | undefined
  name: string
  at: number
}

export type BinaryOperator =
  | '*'
  | '/'
  | '%'
  | '+'
  | '-'
  | '=~'
  | '==~'
  | '<<'
  | '>>'
  | '>>>'
  | '<'
  | '<='
  | '>'
  | '>='
  | '=='
  | '==='
  | '!='
  | '!=='
  | '&'
  | '^'
  | '|'
  | '&&'
  | '||'

export type Expression = { at: number } & (
  | { kind: 'int'; text: string; negative: boolean }
  | { kind: 'decimal'; text: string; negative: boolean }
  | { kind: 'string'; value: string }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'null' }
  | { kind: 'regex'; pattern: string; flags: string }
  | { kind: 'name'; name: string }
  | { kind: 'type'; type: TypeName }
  | { kind: 'list'; items: Expression[] }
  | { kind: 'map'; entries: [Expression, Expression][] }
  | { kind: 'new'; type: TypeName; args: Expression[] }
  | { kind: 'newArray'; element: TypeName; sizes: Expression[]; dimensions: number }
  | { kind: 'arrayInit'; element: TypeName; items: Expression[] }
  | { kind: 'call'; name: string; args: Expression[] }
  | { kind: 'method'; target: Expression; name: string; args: Expression[]; nullSafe: boolean }
  | { kind: 'field'; target: Expression; name: string; nullSafe: boolean }
  | { kind: 'index'; target: Expression; index: Expression }
  | { kind: 'unary'; operator: '+' | '-' | '!' | '~'; operand: Expression }
  | { kind: 'cast'; type: TypeName; operand: Expression }
  | { kind: 'binary'; operator: BinaryOperator; left: Expression; right: Expression }
  | { kind: 'instanceof'; operand: Expression; type: TypeName }
  | { kind: 'elvis'; left: Expression; right: Expression }
  | { kind: 'conditional'; condition: Expression; yes: Expression; no: Expression }
  | { kind: 'assign'; operator: BinaryOperator | undefined; target: Expression; value: Expression }
  | { kind: 'increment'; target: Expression; by: 1 | -1; postfix: boolean }
  | { kind: 'lambda'; parameters: Parameter[]; body: Statement[] | Expression }
  | { kind: 'reference'; target: TypeName | string | 'this'; isType: boolean; name: string }
)

export type ExpressionOf<K extends Expression['kind']> = Extract<Expression, { kind: K }>

export type Statement = { at: number } & (
  | { kind: 'if'; condition: Expression; yes: Statement[]; no: Statement[] | undefined }
  | { kind: 'while'; condition: Expression; body: Statement[] | undefined }
  | { kind: 'do'; condition: Expression; body: Statement[] }
  | {
      kind: 'for'
      initializer: Statement | undefined
      condition: Expression | undefined
      after: Expression | undefined
      body: Statement[] | undefined
    }
  | { kind: 'each'; type: TypeName | undefined; name: string; source: Expression; body: Statement[] }
  | { kind: 'declare'; type: TypeName; names: { name: string; at: number; value: Expression | undefined }[] }
  | { kind: 'continue' }
  | { kind: 'break' }
  | { kind: 'return'; value: Expression | undefined }
  | { kind: 'try'; body: Statement[]; catches: { at: number; type: TypeName; name: string; body: Statement[] }[] }
  | { kind: 'throw'; value: Expression }
  | { kind: 'expression'; expression: Expression }
)

export type StatementOf<K extends Statement['kind']> = Extract<Statement, { kind: K }>

export interface FunctionNode {
  at: number
  returns: TypeName
  name: string
  parameters: Parameter[]
  body: Statement[]
}

export interface ScriptNode {
  functions: FunctionNode[]
  statements: Statement[]
}
