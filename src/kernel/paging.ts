/** The three kinds of paging in the specification. Each kind has a query shape and a response shape. */
import { type TSchema, Type } from './schema.ts'

const integer = (description: string, minimum: number, fallback: number, maximum = 2_147_483_647) =>
  Type.Integer({ minimum, maximum, default: fallback, description })

/** Defines `offset` and `limit` for a response `{totalElements, content}`. With `all`, limit 0 returns all items. */
export const offsetQuery = (
  defaultLimit: number,
  { all = true, maximum }: { all?: boolean; maximum?: number } = {},
) => ({
  offset: integer('Number of items to skip. Default: 0.', 0, 0),
  limit: integer(
    `Maximum number of items to return${all ? '; 0 returns all' : ''}. Default: ${defaultLimit}.`,
    all ? 0 : 1,
    defaultLimit,
    maximum,
  ),
})

/** Defines `page` and `size`, counted from 0, for a response `{totalElements, content}`. */
export const pageQuery = (defaultSize = 100, maximum = 10_000) => ({
  page: integer('Number of the page, counted from 0. Default: 0.', 0, 0),
  size: integer(`Maximum number of items on a page. Default: ${defaultSize}.`, 1, defaultSize, maximum),
})

/** Defines `page` and `pageSize`, counted from 1, for a response `{data, count, page, pageSize}`. */
export const numberedQuery = (defaultSize = 100) => ({
  page: integer('Number of the page, counted from 1. Default: 1.', 1, 1),
  pageSize: integer(`Maximum number of items on a page. Default: ${defaultSize}.`, 1, defaultSize, 10_000),
})

/** Returns the title of a page's shape. It is derived from the title of the items: `EndpointPage`. */
const pageTitle = (item: TSchema, suffix: string) => {
  const { title } = item as { title?: string }
  return title === undefined ? {} : { title: title + suffix }
}

const total = () =>
  Type.Integer({ description: 'Number of all matching items that the caller may read, on all pages.' })
const itemsOf = <T extends TSchema>(item: T) => Type.Array(item, { description: 'The items of this page.' })
const pageDescription = { description: 'One page of a list, with the number of all matching items.' }

export const contentPage = <T extends TSchema>(item: T) =>
  Type.Object({ totalElements: total(), content: itemsOf(item) }, { ...pageTitle(item, 'Page'), ...pageDescription })

const alwaysNull = (description: string) => Type.Null({ description })

/** Defines `{count, next, previous, results}` of tenant manager v1. `next` and `previous` are always null (document 3, 2.6). */
export const resultsPage = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      count: total(),
      next: alwaysNull('Always null: page with `offset` and `limit`.'),
      previous: alwaysNull('Always null: page with `offset` and `limit`.'),
      results: itemsOf(item),
    },
    { ...pageTitle(item, 'Results'), ...pageDescription },
  )

/** Defines `{count, results, limit, offset}` of tenant manager v2. */
export const countedPage = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      count: total(),
      results: itemsOf(item),
      limit: Type.Integer({ description: 'The `limit` of the request: maximum number of items in `results`.' }),
      offset: Type.Integer({ description: 'The `offset` of the request: number of items that were skipped.' }),
    },
    { ...pageTitle(item, 'Page'), ...pageDescription },
  )

/** The part of a list that a store returns. A `limit` of null means all rows. */
export interface Window {
  offset: number
  limit: number | null
}

export const windowOf = ({ offset, limit }: { offset: number; limit: number }): Window => ({
  offset,
  limit: limit === 0 ? null : limit,
})

export const windowOfPage = ({ page, size }: { page: number; size: number }): Window => ({
  offset: page * size,
  limit: size,
})
