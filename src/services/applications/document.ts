import type { Document } from '../../kernel/document.ts'

export interface ApplicationDocument extends Document {
  name: string
  tenantId: string
}
