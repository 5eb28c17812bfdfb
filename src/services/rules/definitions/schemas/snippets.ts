import { contentPage } from '../../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, Type } from '../../../../kernel/schema.ts'
import * as common from './common.ts'

const ofSnippet = Type.Object({ snippetId: Name({ description: 'Id of the snippet.' }) })
const body = Type.Object(
  {
    name: common.name('snippet'),
    description: common.description,
    code: common.script('Text of the snippet. The text is not checked, because it may be a part of a script.'),
  },
  {
    title: 'SnippetFields',
    description: 'The fields of a snippet that a caller sends.',
    examples: [{ name: 'last value', code: "ctx.endpoint.getTimeSeries('auto~temperature').last().values.value" }],
  },
)
const { uiMetadata: _, ...answered } = common.answered
const Snippet = Type.Object(
  {
    id: Type.String({ description: 'Id of the snippet.' }),
    name: Type.String({ description: 'Name of the snippet.' }),
    code: Type.String({ description: 'Text of the snippet.' }),
    ...answered,
  },
  {
    title: 'Snippet',
    description: 'A piece of code that people copy into scripts. Scripts cannot refer to a snippet.',
  },
)

export const createSnippet = {
  name: 'snippets.create',
  summary: 'Create a snippet',
  body,
  response: common.created,
}
export const listSnippets = {
  name: 'snippets.list',
  summary: 'List snippets',
  query: Type.Object(common.listQuery),
  response: { 200: contentPage(Snippet) },
}
export const getSnippet = {
  name: 'snippets.get',
  summary: 'Get a snippet',
  params: ofSnippet,
  response: { 200: Snippet, 304: Empty() },
  fails: { 404: common.missing('snippet') },
}
export const updateSnippet = {
  name: 'snippets.update',
  summary: 'Replace a snippet',
  params: ofSnippet,
  body,
  response: common.none,
  fails: { 404: common.missing('snippet'), ...ifMatchFails },
}
export const deleteSnippet = {
  name: 'snippets.delete',
  summary: 'Delete a snippet',
  params: ofSnippet,
  response: common.none,
  fails: { 404: common.missing('snippet'), ...ifMatchFails },
}
