import { Name, Type } from '../../../kernel/schema.ts'

export const noApplication = { 404: 'The application does not exist, or the caller may not read it.' }
export const application = Type.Object({ applicationName: Name({ description: 'Name of the application.' }) })
