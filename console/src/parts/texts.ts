/** Texts of the parts. */

/** Returns a number with commas. Whole numbers need no `Intl`, whose first use takes long (`relative-time.ts`). */
export const count = (value: number) =>
  Number.isSafeInteger(value) ? String(value).replace(/\B(?=(?:\d{3})+$)/g, ',') : formatNumber(value)

/** Returns the words for a number of things: `one` for 1, otherwise `many`. The number itself is not part of the words. */
export const nounOf = (one: string, many: string) => (number: number) => (number === 1 ? one : many)

/** Returns a number with its noun: `1 row`, `2 rows`. */
export const counted = (number: number, noun: string) => `${count(number)} ${number === 1 ? noun : `${noun}s`}`

const formats = new Map<number | undefined, Intl.NumberFormat>()

/** Returns a measured value, with a fixed number of decimals or as many as are needed. */
export function formatNumber(value: number, decimals?: number): string {
  const digits = decimals === undefined ? {} : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  const format = formats.get(decimals) ?? new Intl.NumberFormat('en', digits)
  formats.set(decimals, format)
  return format.format(value)
}

export const texts = {
  none: '—',
  pending: '…',
  more: (characters: number) => `… ${counted(characters, 'more character')}`,
  noDifference: 'Nothing differs.',
  removed: 'removed:',
  added: 'added:',
  moreLines: (lines: number) => `… ${counted(lines, 'more line')}`,
  messages: 'Messages',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'The browser did not allow copying. Select the text and copy it.',
  saveFile: 'Save as a file',
  choose: 'Choose…',
  cancel: 'Cancel',
  close: 'Close',
  outdated:
    'This has changed while the dialog was open, so nothing was done. Close the dialog and look at the new state.',
  save: 'Save',
  delete: 'Delete',
  tryAgain: 'Try again',
  loadAgain: 'Load the page again',
  missingFile: 'A part of this page could not be loaded: the platform has a newer console, or does not answer.',
  reset: 'Reset',
  loading: 'Loading…',
  loadingMore: 'Loading more…',
  working: 'Working…',
  optional: 'optional',
  tooLong: (length: number, max: number) =>
    `${count(length)} characters are too many: at most ${count(max)} are possible. Nothing was cut; shorten it before you save.`,
  on: 'On',
  off: 'Off',
  problemCode: 'Code',
  problemField: 'Field',
  problemId: 'Correlation id',
  waitSeconds: (seconds: number) => `Try again in ${count(Math.ceil(seconds))} s.`,
  noPermission: 'You may not see this',
  changeRefused: 'The platform refused this because a permission is missing. Nothing was changed.',
  noPermissionText: (scope: string) => `It needs the scope ${scope}. An administrator of the tenant can grant it.`,
  noPermissionUnknown: 'An administrator of the tenant can grant the permission.',
  selectRow: (name: string) => `Select ${name}`,
  selectShown: 'Select all rows that are loaded',
  selected: (selected: number) => `${count(selected)} selected`,
  allSelected: (total: number | undefined) =>
    total === undefined ? 'All that match are selected' : `All ${count(total)} that match are selected`,
  selectAll: (total: number | undefined) =>
    total === undefined ? 'Select all that match' : `Select all ${count(total)} that match`,
  reducedSelection: 'The rows that are not loaded are no longer selected.',
  clearSelection: 'Clear selection',
  rows: (shown: number, total: number | undefined) =>
    total === undefined || total === shown ? counted(shown, 'row') : `${count(shown)} of ${count(total)} rows`,
  sortBy: (name: string) => `Sort by ${name}`,
  nothingMatches: 'Nothing matches',
  nothingMatchesText: 'No item meets these conditions.',
  clearFilters: 'Clear the conditions',
  search: 'Search',
  searchIn: (noun: string) => `Search ${noun.toLowerCase()}`,
  clearSearch: 'Clear the search',
  badAddress: (parts: string) => `The address has values that this page does not know: ${parts}. They are ignored.`,
  asCommand: 'As a command',
  asCommandTitle: 'The same as a command',
  asCommandScopes: 'Needs the scope',
  asCommandToken: 'TOKEN holds an access token; an API key in the header X-Identity-API-Key works too.',
  deleteTitle: (objectName: string) => `Delete ${objectName}?`,
  deleteForever: 'This cannot be undone.',
  deleteAlso: 'This is deleted with it:',
  deleteCounting: 'Counting what is deleted with it…',
  typeToConfirm: (word: string) => `Type ${word} to confirm`,
  conflictTitle: 'Somebody else has changed this',
  conflictText:
    'The object changed after you opened it. “Save mine” saves what you changed, and keeps what only the other person changed.',
  conflictField: 'Field',
  conflictTheirs: 'Now on the platform',
  conflictYours: 'Your change',
  conflictNotYours: 'Not changed by you; stays as it is on the platform',
  conflictKeepYours: 'Save mine',
  conflictTakeTheirs: 'Discard mine',
  secretOnce: 'Shown only now. Keep it in a safe place.',
  invalidJson: (reason: string) => `Not valid JSON: ${reason}`,
  editorLoading: 'Loading the editor…',
  time: 'Time',
  value: 'Value',
  asTable: 'Show as a table',
  asChart: 'Show as a chart',
  chartHint: 'Use the arrow keys to read single points.',
  chartEmpty: 'No points in this period.',
  chartSummary: (points: number, low: string, high: string, last: string) =>
    `${counted(points, 'point')}, lowest ${low}, highest ${high}, last ${last}.`,
  severities: { CRITICAL: 'Critical', HIGH: 'High', MEDIUM: 'Medium', LOW: 'Low', INFO: 'Info' },
  alertOpen: 'Open',
  alertResolved: 'Resolved',
  alertAcknowledged: 'Acknowledged',
  connections: { connected: 'Connected', disconnected: 'Disconnected', never: 'Never connected' },
  addToDashboard: 'Add to dashboard',
  add: 'Add',
  openDashboard: 'Open the dashboard',
  addedToDashboard: 'The chart is at the end of the dashboard.',
  whichDashboard: 'Which dashboard',
  existingDashboard: 'Existing dashboard',
  newDashboard: 'New dashboard',
  dashboardName: 'Name of the new dashboard',
  dashboard: 'Dashboard',
  widgetTitle: 'Title of the chart',
  role: 'Role',
  grantToRole: 'Grant to role',
  ownGrant: 'Own grant',
  byCreation: 'Created',
  onResource: 'on',
  asScope: 'by',
  progress: (done: number, total: number, failed: number) =>
    `${count(done)} of ${count(total)} done, ${count(failed)} of them failed`,
  progressUnknown: (done: number) => `${count(done)} done`,
  mapSources: 'Natural Earth, GeoNames',
  mapHint: 'Arrow keys move the map, + and - zoom. The table has the same places.',
  mapCluster: (number: number) => `${count(number)} endpoints; click to zoom in`,
  moreActions: 'More actions',
  menu: 'Menu',
}
