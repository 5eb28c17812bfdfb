import { bodyLimitBytes as bodyBytesMax } from '../../../../kernel/http/body.ts'
import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import type { AlertSettingFields } from '../alert-setting-parts.ts'
import * as schemas from '../schemas/alert-settings.ts'
import type { AlertSettingOperations } from '../service/alert-settings.ts'
import { sendWithEtag } from './answers.ts'

const path = '/alert-settings/:alertSettingId'
const scope = (verb: string) => `alert-setting:${verb}`

export function alertSettingRoutes(http: Http, settings: AlertSettingOperations) {
  http.post(
    '/alert-settings',
    {
      schema: schemas.createAlertSetting,
      config: { scope: 'tenant:alert-setting:create', on: 'tenant', bodyBytesMax },
    },
    async (request, reply) => {
      const id = await settings.create(request.ctx, request.body as AlertSettingFields)
      return reply
        .code(201)
        .header('location', http.link(request, `/alert-settings/${id}`))
        .send()
    },
  )
  http.get(
    '/alert-settings',
    { schema: schemas.listAlertSettings, config: { scope: scope('read') } },
    async ({ ctx, query }, reply) => sendList(reply, await settings.list(ctx, query)),
  )
  http.get(path, { schema: schemas.getAlertSetting, config: { scope: scope('read') } }, async (request, reply) =>
    sendWithEtag(request, reply, await settings.read(request.ctx, request.params.alertSettingId)),
  )
  http.put(
    path,
    { schema: schemas.updateAlertSetting, config: { scope: scope('update'), bodyBytesMax } },
    async (request, reply) => {
      const { ctx, params, body, headers } = request
      await settings.update(ctx, params.alertSettingId, body as AlertSettingFields, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.delete(
    path,
    { schema: schemas.deleteAlertSetting, config: { scope: scope('delete') } },
    async (request, reply) => {
      await settings.delete(request.ctx, request.params.alertSettingId, request.headers['if-match'])
      return reply.code(204).send()
    },
  )
}
