export type { Fragment } from '../../../kernel/db.ts'
