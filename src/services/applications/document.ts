import type { Document } from '../../kernel/http/documents.ts'

export interface ApplicationDocument extends Document {
  name: string
  tenantId: string
}
