import { contentPage } from '../../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, Text, Type } from '../../../../kernel/schema.ts'
import { alertType, messageLength, severityLevel } from '../names.ts'
import * as common from './common.ts'
import { selection } from './triggers.ts'

const ofSetting = Type.Object({ alertSettingId: Name({ description: 'Id of the alert setting.' }) })
const address = Type.String({
  minLength: 3,
  maxLength: 320,
  pattern: '^(?:[^<>\\u0000-\\u001f]*<[^\\s@<>,;]+@[^\\s@<>,;]+>|[^\\s@<>,;]+@[^\\s@<>,;]+)$',
  description: 'An address, plain or as `Name <address>`.',
})

const fields = {
  name: common.name('alert setting'),
  alertType: alertType('Type of the alerts: 1 to 100 letters, digits, `_`, `.` and `-`.'),
  severityLevel: severityLevel('Severity of the alerts.'),
  ...selection,
  activationExpression: common.script(
    'Script that runs for each message with data samples. An alert opens when it returns anything but false, null and undefined.',
  ),
  resolutionExpression: Type.Optional(
    common.script(
      'Script that runs when the activation does not open an alert. The alert is resolved when it returns anything but false, null and ' +
        'undefined. If absent: when the activation returns false.',
    ),
  ),
  message: Type.Optional(
    Text({ maxLength: messageLength, description: 'Reason of the alerts, for people. Default: none.' }),
  ),
  emailRecipients: Type.Optional(
    Type.Array(address, {
      maxItems: 50,
      description: 'Addresses that get an e-mail when an alert opens and when it is resolved. Default: none.',
    }),
  ),
  webhookUrl: Type.Optional(
    Name({
      maxLength: 8192,
      description:
        'URL that gets a POST request with `eventType` and `alert` when an alert opens and when it is resolved. Default: none.',
    }),
  ),
}

const body = Type.Object(
  {
    ...fields,
    description: common.description,
    state: Type.Optional(
      Type.Enum(['ENABLED', 'DISABLED'], {
        description: 'DISABLED stops activation, resolution and notices. Default: ENABLED.',
      }),
    ),
    uiMetadata: common.uiMetadata,
  },
  {
    title: 'AlertSettingFields',
    description:
      'The fields of an alert setting that a caller sends, with exactly one of `appName`, `appVersionName` and `endpointIds`.',
    examples: [
      {
        name: 'too hot',
        alertType: 'HIGH_TEMPERATURE',
        severityLevel: 'HIGH',
        appName: 'rooms',
        activationExpression:
          'const { temperature } = ctx.trigger.endpointDataSamplesReceived.dataSamples[0]; return temperature > 30',
        emailRecipients: ['caretaker@example.org'],
      },
    ],
  },
)

const AlertSetting = Type.Object(
  {
    id: Type.String({ description: 'Id of the alert setting.' }),
    ...fields,
    state: Type.Enum(['ENABLED', 'DISABLED'], { description: 'DISABLED stops activation, resolution and notices.' }),
    ...common.answered,
  },
  {
    title: 'AlertSetting',
    description:
      'Opens and resolves alerts by data samples, and notifies people. The platform makes rules, triggers and actions from it.',
  },
)

const { 409: _, ...changeFails } = common.changeFails('alert setting')

export const createAlertSetting = {
  name: 'alertSettings.create',
  summary: 'Create an alert setting',
  body,
  response: common.created,
  fails: { 400: `${common.invalid} If a script has a syntax error, the message gives its line and column.` },
}
export const listAlertSettings = {
  name: 'alertSettings.list',
  summary: 'List alert settings',
  query: Type.Object(common.listQuery),
  response: { 200: contentPage(AlertSetting) },
}
export const getAlertSetting = {
  name: 'alertSettings.get',
  summary: 'Get an alert setting',
  params: ofSetting,
  response: { 200: AlertSetting, 304: Empty() },
  fails: { 404: common.missing('alert setting') },
}
export const updateAlertSetting = {
  name: 'alertSettings.update',
  summary: 'Replace an alert setting',
  description:
    'Absent fields get their defaults. The rules, triggers and actions of the alert setting change too; open alerts do not change.',
  params: ofSetting,
  body,
  response: common.none,
  fails: changeFails,
}
export const deleteAlertSetting = {
  name: 'alertSettings.delete',
  summary: 'Delete an alert setting',
  description:
    'Deletes the rules, triggers and actions of the alert setting too. The alerts of the alert setting do not change.',
  params: ofSetting,
  response: common.none,
  fails: { 404: common.missing('alert setting'), ...ifMatchFails },
}
