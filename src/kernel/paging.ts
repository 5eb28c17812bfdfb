/** The three ways in which the specification pages a list; each has a query shape and a response shape. */
import { type TSchema, Type } from './schema.ts'

const integer = (description: string, minimum: number, fallback: number, maximum = 2_147_483_647) =>
  Type.Integer({ minimum, maximum, default: fallback, description })

/** `offset` and `limit` → `{totalElements, content}`; with `all`, limit 0 returns everything. */
export const offsetQuery = (
  defaultLimit: number,
  { all = true, maximum }: { all?: boolean; maximum?: number } = {},
) => ({
  offset: integer('Number of items to skip', 0, 0),
  limit: integer(`Number of items to return${all ? '; 0 returns all' : ''}`, all ? 0 : 1, defaultLimit, maximum),
})

/** `page` and `size`, counted from 0 → `{totalElements, content}`. */
export const pageQuery = (defaultSize = 100) => ({
  page: integer('Number of the page, from 0', 0, 0),
  size: integer('Number of items on a page', 1, defaultSize, 10_000),
})

/** `page` and `pageSize`, counted from 1 → `{data, count, page, pageSize}`. */
export const numberedQuery = (defaultSize = 100) => ({
  page: integer('Number of the page, from 1', 1, 1),
  pageSize: integer('Number of items on a page', 1, defaultSize, 10_000),
})

/** Names the shape of a page after its items: `EndpointPage`. */
const pageTitle = (item: TSchema, word: string) => {
  const { title } = item as { title?: string }
  return title === undefined ? {} : { title: title + word }
}

export const contentPage = <T extends TSchema>(item: T) =>
  Type.Object({ totalElements: Type.Integer(), content: Type.Array(item) }, pageTitle(item, 'Page'))

/** `{count, next, previous, results}`: tenant manager v1; next and previous are always null (document 3, 2.6). */
export const resultsPage = <T extends TSchema>(item: T) =>
  Type.Object(
    { count: Type.Integer(), next: Type.Null(), previous: Type.Null(), results: Type.Array(item) },
    pageTitle(item, 'Results'),
  )

/** `{count, results, limit, offset}`: tenant manager v2. */
export const countedPage = <T extends TSchema>(item: T) =>
  Type.Object(
    { count: Type.Integer(), results: Type.Array(item), limit: Type.Integer(), offset: Type.Integer() },
    pageTitle(item, 'Page'),
  )

/** The rows that a store returns; a `limit` of null means all. */
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
