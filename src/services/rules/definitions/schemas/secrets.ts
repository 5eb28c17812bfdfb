import { contentPage } from '../../../../kernel/paging.ts'
import { Name, Type } from '../../../../kernel/schema.ts'
import { secretName } from '../names.ts'
import * as common from './common.ts'

const ofSecret = Type.Object({ secretId: Name({ description: 'Id of the secret.' }) })
const name = secretName('Name of the secret, unique in the tenant: 1 to 100 letters, digits, `_`, `.` and `-`.')
const value = Type.String({ minLength: 1, maxLength: 8192, description: 'The value. No response contains it.' })
const taken = { 409: 'Another secret has this name.' }
const { uiMetadata: _, ...answered } = common.answered
const Secret = Type.Object(
  {
    id: Type.String({ description: 'Id of the secret.' }),
    name: Type.String({ description: 'Name of the secret.' }),
    ...answered,
  },
  { title: 'Secret', description: 'A secret without its value. Scripts read it with `ctx.toolbox.secrets.get(name)`.' },
)

export const createSecret = {
  name: 'secrets.create',
  summary: 'Create a secret',
  description: 'A tenant has at most 1,000 secrets. Their values are masked in logs, reasons and returned values.',
  body: Type.Object(
    { name, value, description: common.description },
    { title: 'NewSecret', description: 'A secret to create.', examples: [{ name: 'office-api-key', value: 'k-123' }] },
  ),
  response: common.created,
  fails: taken,
}
export const listSecrets = {
  name: 'secrets.list',
  summary: 'List secrets',
  query: Type.Object(common.listQuery),
  response: { 200: contentPage(Secret) },
}
export const getSecret = {
  name: 'secrets.get',
  summary: 'Get a secret without its value',
  params: ofSecret,
  response: { 200: Secret },
  fails: { 404: common.missing('secret') },
}
export const updateSecret = {
  name: 'secrets.update',
  summary: 'Change a secret',
  description: 'Absent fields keep their values.',
  params: ofSecret,
  body: Type.Object(
    { name: Type.Optional(name), value: Type.Optional(value), description: common.description },
    { title: 'SecretChange', description: 'The fields of a secret to change.', examples: [{ value: 'k-456' }] },
  ),
  response: common.none,
  fails: { 404: common.missing('secret'), ...taken },
}
export const deleteSecret = {
  name: 'secrets.delete',
  summary: 'Delete a secret',
  params: ofSecret,
  response: common.none,
  fails: { 404: common.missing('secret') },
}
