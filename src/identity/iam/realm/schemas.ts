import { type Static, Type } from '../../../kernel/schema.ts'

export const RealmSettings = Type.Object(
  {
    secondFactor: Type.Enum(['off', 'optional', 'required'], {
      description:
        'off: logins need a password only. optional: users who add a second factor need it at every login. required: all users need a second factor; a user without a second factor adds it at the next login.',
    }),
  },
  { title: 'RealmSettings', description: 'Settings for the logins of a tenant.' },
)
export type RealmSettings = Static<typeof RealmSettings>

export const readRealm = {
  name: 'realm.get',
  summary: 'Get the settings for logins of the tenant',
  response: { 200: RealmSettings },
}
export const updateRealm = {
  name: 'realm.update',
  summary: 'Change the settings for logins of the tenant',
  description:
    'Applies to the next logins. Existing logins continue. A caller that makes the rule for second factors weaker must hold ' +
    'the permissions of all roles, because it changes how every user logs in.',
  body: RealmSettings,
  response: { 200: RealmSettings },
  fails: { 403: 'The caller does not hold `identity:realm:update`, or a permission of a role of the tenant.' },
}
