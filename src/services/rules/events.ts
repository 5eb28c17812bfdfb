import { defineEvent } from '../../kernel/bus.ts'

export const DefinitionsChanged = defineEvent<{ tenantId: string; revision: number }>('rules.definitions.changed', {
  description: 'Rules, actions, triggers or secrets of a tenant were changed; nodes read them again',
})
