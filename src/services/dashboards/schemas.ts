import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, Name, Text, Type } from '../../kernel/schema.ts'
import { Definition } from './definition-schemas.ts'

const person = (title: string, description: string) =>
  Type.Object(
    {
      type: Type.String({ description: 'Kind of the subject: user, client or api-key.' }),
      id: Type.String({ description: 'Id of the subject.' }),
      name: Type.Optional(
        Type.String({
          description: 'Name at that time: the user name, or the name of the API key. Omitted for a client.',
        }),
      ),
    },
    { title, description },
  )

const summaryFields = {
  dashboardId: Type.String({ description: 'Id of the dashboard.' }),
  name: Type.String({ description: 'Name of the dashboard.' }),
  description: Type.Optional(Type.String({ description: 'Free text.' })),
  owner: person('DashboardOwner', 'The subject that created the dashboard.'),
  version: Type.Integer({ description: 'Number of the version, from 1; every change adds 1.' }),
  createdDate: DateTime({ description: 'Time at which the dashboard was created, in UTC.' }),
  updatedDate: DateTime({ description: 'Time of the last change of the dashboard, in UTC.' }),
}
const Summary = Type.Object(summaryFields, {
  title: 'DashboardSummary',
  description: 'A dashboard without its contents.',
})
const Dashboard = Type.Object(
  { ...summaryFields, definition: Definition },
  { title: 'Dashboard', description: 'A dashboard.' },
)

const naming = {
  name: Name({ maxLength: 200, description: 'Name of the dashboard. Several dashboards may have the same name.' }),
  description: Type.Optional(Text({ maxLength: 2000, description: 'Free text. Default: none.' })),
}
export const DashboardInput = Type.Object(
  { ...naming, definition: Definition },
  { title: 'DashboardInput', description: 'Name and contents of a dashboard.' },
)

const byDashboard = Type.Object({ dashboardId: Name({ description: 'Id of the dashboard.' }) })
const byVersion = Type.Object({
  dashboardId: Name({ description: 'Id of the dashboard.' }),
  version: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Number of the version.' }),
})
const noDashboard = 'There is no such dashboard, or the caller may not read it.'
const noVersion = 'There is no such dashboard or version, or the caller may not read it.'
const tooMany = 'The tenant has 2,000 dashboards, which is the maximum.'
const badContents =
  'A field is missing or malformed, two widgets have the same id, or a widget uses a variable that is not declared.'

export const listDashboards = {
  name: 'dashboards.list',
  summary: 'List dashboards',
  description: 'The dashboards that the caller may read, in the order of names.',
  query: Type.Object({
    ...offsetQuery(100, { all: false, maximum: 1000 }),
    search: Type.Optional(Text({ description: 'Only dashboards with this text in their name. Default: all.' })),
  }),
  response: { 200: contentPage(Summary) },
}
export const createDashboard = {
  name: 'dashboards.create',
  summary: 'Create a dashboard',
  description: 'The caller becomes the owner of the dashboard and may change and delete it.',
  body: DashboardInput,
  response: { 201: Dashboard },
  fails: { 400: badContents, 409: tooMany },
}
export const getDashboard = {
  name: 'dashboards.get',
  summary: 'Get a dashboard',
  params: byDashboard,
  response: { 200: Dashboard, 304: Empty() },
  fails: { 404: noDashboard },
}
export const updateDashboard = {
  name: 'dashboards.update',
  summary: 'Replace name and contents of a dashboard',
  description: 'The previous version stays in the list of versions.',
  params: byDashboard,
  body: DashboardInput,
  response: { 200: Dashboard },
  fails: { 400: badContents, 404: noDashboard, ...ifMatchFails },
}
export const deleteDashboard = {
  name: 'dashboards.delete',
  summary: 'Delete a dashboard with all of its versions',
  params: byDashboard,
  response: { 204: Empty() },
  fails: { 404: noDashboard, ...ifMatchFails },
}

const versionFields = {
  version: Type.Integer({ description: 'Number of the version.' }),
  name: Type.String({ description: 'Name of the dashboard in this version.' }),
  description: Type.Optional(Type.String({ description: 'Free text.' })),
  author: person('DashboardAuthor', 'The subject that made this version.'),
  createdDate: DateTime({ description: 'Time at which this version was created, in UTC.' }),
}
const VersionSummary = Type.Object(versionFields, {
  title: 'DashboardVersionSummary',
  description: 'A version of a dashboard without its contents.',
})
export const listVersions = {
  name: 'dashboards.versions.list',
  summary: 'List the versions of a dashboard',
  description: 'The newest first. The last 50 versions are kept.',
  params: byDashboard,
  response: {
    200: Type.Object(
      { content: Type.Array(VersionSummary, { description: 'The versions, with the current version.' }) },
      { title: 'DashboardVersions', description: 'The versions of a dashboard.' },
    ),
  },
  fails: { 404: noDashboard },
}
export const getVersion = {
  name: 'dashboards.versions.get',
  summary: 'Get a version of a dashboard',
  params: byVersion,
  response: {
    200: Type.Object(
      { ...versionFields, definition: Definition },
      { title: 'DashboardVersion', description: 'A version of a dashboard.' },
    ),
  },
  fails: { 404: noVersion },
}
export const restoreVersion = {
  name: 'dashboards.versions.restore',
  summary: 'Restore an old version of a dashboard',
  description: 'Adds a new version with the name and contents of the old version. All other versions are kept.',
  params: byVersion,
  response: { 200: Dashboard },
  fails: { 404: noVersion, ...ifMatchFails },
}

const byAppVersion = Type.Object({ appVersionName: Name({ description: 'Name of the version of the application.' }) })
const noTemplate = 'The version of the application does not exist or has no dashboard, or the caller may not read it.'
const Template = Type.Object(
  {
    appVersionName: Type.String({ description: 'Name of the version of the application.' }),
    applicationName: Type.String({ description: 'Name of the application.' }),
    name: Type.String({ description: 'Name of the dashboard.' }),
    description: Type.Optional(Type.String({ description: 'Free text.' })),
    definition: Definition,
    updatedDate: DateTime({ description: 'Time of the last change of the template, in UTC.' }),
  },
  {
    title: 'DashboardTemplate',
    description:
      'The dashboard template of an application version. Its variables get the application and endpoint that is shown.',
  },
)
export const getTemplate = {
  name: 'dashboardTemplates.get',
  summary: 'Get the dashboard template of an application version',
  description: 'Requires `application:read` on the application.',
  params: byAppVersion,
  response: { 200: Template, 304: Empty() },
  fails: { 404: noTemplate },
}
export const updateTemplate = {
  name: 'dashboardTemplates.update',
  summary: 'Set the dashboard template of an application version',
  description: 'Creates or replaces the template. Needs `application:update` on the application.',
  params: byAppVersion,
  body: DashboardInput,
  response: { 200: Template },
  fails: {
    400: badContents,
    404: 'There is no such version of an application, or the caller may not read it.',
    ...ifMatchFails,
  },
}
export const deleteTemplate = {
  name: 'dashboardTemplates.delete',
  summary: 'Delete the dashboard template of an application version',
  params: byAppVersion,
  response: { 204: Empty() },
  fails: { 404: noTemplate, ...ifMatchFails },
}
