import { count } from '../../parts/texts.ts'

export const texts = {
  title: 'Configuration',
  lead: 'The configurations that devices of a version get, and whether the devices have applied them.',
  application: 'Application',
  version: 'Version',
  name: 'Configuration',
  tabs: { label: 'Parts of this page', defaults: 'Default', apply: 'Apply to some', statuses: 'Statuses' },
  noApplicationTitle: 'No applications yet',
  noApplicationText: 'Configurations belong to a version of an application. Create an application first.',
  noVersionTitle: 'No versions yet',
  noVersionText: 'This application has no version. Create a version on the page of the application.',
  toApplications: 'Applications',
  // defaults
  loading: 'Loading the configuration',
  text: 'Default configuration',
  textNote:
    'JSON. The default applies to all endpoints of the version that have no configuration of their own. Connected devices get the default immediately.',
  none: 'This version has no default with this name yet.',
  changes: 'Changes before saving',
  changed: 'Last change',
  save: 'Save and send',
  saved: 'Configuration saved; connected devices get it now',
  conflict:
    'Somebody else has changed the configuration meanwhile. Keys that you did not change have their new values now. Check the difference and save again.',
  delete: 'Delete',
  objectName: (name: string, version: string) => `default configuration ${name} of ${version}`,
  deleted: 'Default configuration deleted',
  newName: 'Another name',
  open: 'Open',
  // apply
  applyLead:
    'One configuration for some endpoints of the version. It replaces the default for these endpoints. If something is wrong, no endpoint gets the configuration.',
  applyTo: 'Who gets it',
  applyTargets: { endpoints: 'Endpoints', filter: 'A filter' },
  chooseEndpoints: 'Choose endpoints…',
  chosenEndpoints: (number: number) => (number === 1 ? '1 endpoint' : `${count(number)} endpoints`),
  filter: 'Filter',
  newFilter: 'New filter',
  noFilters: 'The application has no filters yet.',
  applyText: 'Configuration',
  applyNobody: 'Choose who gets the configuration.',
  applyTitle: 'Send this configuration?',
  applyEndpoints: (number: number) =>
    number === 1
      ? 'One endpoint gets the configuration, immediately if the endpoint is connected.'
      : `${count(number)} endpoints get the configuration, immediately if they are connected.`,
  applyFilter:
    'Every endpoint that matches the filter now gets the configuration, connected endpoints immediately. Endpoints that match later do not get it.',
  applied: (number: number) =>
    number === 1 ? '1 endpoint has this configuration now' : `${count(number)} endpoints have this configuration now`,
  toStatuses: 'Watch their statuses',
  // statuses
  oneConfiguration: 'Only one configuration is shown.',
  allConfigurations: 'Show all',
  statuses: { ALL: 'All', PENDING: 'Not sent', DISPATCHED: 'Sent', APPLIED: 'Applied', FAILED: 'Failed' },
  status: 'Status',
  columns: {
    endpoint: 'Endpoint',
    name: 'Configuration',
    status: 'Status',
    sent: 'Sent',
    confirmed: 'Report',
    reason: 'Reason',
  },
  search: 'Endpoint id',
  emptyTitle: 'No statuses in this version yet',
  emptyText: 'Each endpoint of the version appears once it has an effective configuration.',
  noMatchTitle: 'Nothing matches',
  noMatchText: 'No endpoint has this status and id.',
  clear: 'Clear the conditions',
}
