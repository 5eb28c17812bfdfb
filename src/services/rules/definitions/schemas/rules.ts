import { contentPage, pageQuery } from '../../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, Name, SerialId, Type } from '../../../../kernel/schema.ts'
import { ruleParts } from '../alert-setting-parts.ts'
import * as common from './common.ts'

const ofRule = Type.Object({ ruleId: Name({ description: 'Id of the rule.' }) })

const expression = common.script(
  'Body of a JavaScript function with the parameter `ctx`. The return value decides which actions run: `false` runs the negative ' +
    'actions, null and undefined run no action, and any other value runs the positive actions.',
)
const body = Type.Object(
  {
    name: common.name('rule'),
    description: common.description,
    expression,
    state: Type.Optional(
      Type.Enum(['ENABLED', 'DISABLED'], {
        description: 'State of the rule: triggers start the rule only if it is ENABLED. Default: ENABLED.',
      }),
    ),
    uiMetadata: common.uiMetadata,
  },
  {
    title: 'RuleFields',
    description: 'The fields of a rule that a caller sends.',
    examples: [
      { name: 'too hot', expression: "return ctx.endpoint.getTimeSeries('auto~temperature').last().values.value > 30" },
    ],
  },
)

const Rule = Type.Object(
  {
    id: Type.String({ description: 'Id of the rule.' }),
    name: Type.String({ description: 'Name of the rule.' }),
    expression: Type.String({ description: 'The script.' }),
    state: common.state,
    statistics: common.Statistics,
    version: Type.Integer({
      description: 'Number of the version, from 1. Every change of a field creates a version with the next number.',
    }),
    alertSettingId: Type.Optional(
      Type.String({
        description:
          'Id of the alert setting that the rule is a part of. Absent if the rule is not part of an alert setting.',
      }),
    ),
    alertSettingPart: Type.Optional(
      Type.Enum([...ruleParts], {
        description:
          'Part of the rule in its alert setting. The ALERT rule activates and resolves the alert. The NOTICES rule sends the e-mails and ' +
          'requests about it. Absent if the rule is not part of an alert setting.',
      }),
    ),
    ...common.answered,
  },
  { title: 'Rule', description: 'A script with the triggers that start it and the actions that follow.' },
)

export const createRule = {
  name: 'rules.create',
  summary: 'Create a rule',
  description:
    'The script runs with the permissions that its writer has at the time of the run. The writer is the caller who created or last ' +
    'replaced the rule. Attach triggers and actions with separate operations.',
  body,
  response: common.created,
  fails: { 400: `${common.invalid} If a script has a syntax error, the message gives its line and column.` },
}
export const listRules = {
  name: 'rules.list',
  summary: 'List rules',
  query: Type.Object(common.listQueryWithParts),
  response: { 200: contentPage(Rule) },
}
export const getRule = {
  name: 'rules.get',
  summary: 'Get a rule',
  description: 'The ETag changes with the version, not with the statistics.',
  params: ofRule,
  response: { 200: Rule, 304: Empty() },
  fails: { 404: common.missing('rule') },
}
export const updateRule = {
  name: 'rules.update',
  summary: 'Replace a rule',
  description:
    'Absent fields get their defaults. A change makes a new version. The caller becomes the writer of the script. Triggers and actions stay attached.',
  params: ofRule,
  body,
  response: common.none,
  fails: common.changeFails('rule'),
}
export const deleteRule = {
  name: 'rules.delete',
  summary: 'Delete a rule',
  description: 'The triggers and actions of the rule are detached and stay.',
  params: ofRule,
  response: common.none,
  fails: { 404: common.missing('rule'), 409: common.ofAlertSetting, ...ifMatchFails },
}

const RuleVersion = Type.Object(
  {
    version: Type.Integer({ description: 'Number of the version.' }),
    name: Type.String({ description: 'Name of the rule.' }),
    description: common.answered.description,
    expression: Type.String({ description: 'The script.' }),
    state: common.state,
    uiMetadata: common.answered.uiMetadata,
    updatedAt: DateTime({ description: 'Time at which the version was written, in UTC.' }),
    updatedBy: Type.String({ description: 'Author of the version: a username, or the id of a client or key.' }),
  },
  { title: 'RuleVersion', description: 'The fields of a rule in one version.' },
)

export const listVersions = {
  name: 'rules.versions.list',
  summary: 'List the versions of a rule',
  description: 'The newest version comes first. The last 100 versions are kept.',
  params: ofRule,
  query: Type.Object(pageQuery(100)),
  response: { 200: contentPage(RuleVersion) },
  fails: { 404: common.missing('rule') },
}
export const getVersion = {
  name: 'rules.versions.get',
  summary: 'Get a version of a rule',
  params: Type.Object({
    ruleId: Name({ description: 'Id of the rule.' }),
    version: SerialId({ description: 'Number of the version.' }),
  }),
  response: { 200: RuleVersion },
  fails: { 404: 'The rule or this version does not exist, or the caller may not read the rule.' },
}
