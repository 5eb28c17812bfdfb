import { defineSettings } from '../../kernel/settings.ts'

export const consoleSettings = defineSettings(
  {
    CONSOLE_DIR: {
      kind: 'path',
      default: undefined,
      meaning:
        'folder with a ready-made build of the web console (waypost console build); default: built at the first start',
    },
    CONSOLE_WATCH: {
      kind: 'switch',
      default: 'off',
      meaning:
        'on: a page that is loaded after a change of the sources of the web console builds it again, for development',
    },
  },
  ({ CONSOLE_DIR, CONSOLE_WATCH }) => ({ directory: CONSOLE_DIR, watch: CONSOLE_WATCH }),
)
