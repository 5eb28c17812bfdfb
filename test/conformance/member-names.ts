/**
 * Sends names that every JavaScript object inherits, such as `constructor`, wherever a request can contain a name: as keys and texts of
 * bodies, as query parameters and in the path. No operation may fail with 5xx.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ask } from '../harness/client.ts'
import { type Shape, sampleOf } from './bad-input.ts'

const names = ['constructor', '__proto__']

interface Operation {
  tags: string[]
  parameters: { name: string; in: 'path' | 'query' | 'header'; schema: Shape }[]
  requestBody?: { content: Record<string, { schema: Shape }> }
}

const withOwnMember = (name: string, value: unknown) => Object.defineProperty({}, name, { value, enumerable: true })

/** Returns JSON texts: an object with the name as its only key, and a valid body in which all objects have the name as a further key. */
function textsWithKey(sample: unknown, name: string): string[] {
  const member = `${JSON.stringify(name)}:`
  const valid = JSON.stringify(sample)
  const everywhere = valid.replaceAll('{}', `{${member}{"a":1}}`).replaceAll(/\{(?=")/g, `{${member}1,`)
  return [`{${member}1}`, ...(everywhere === valid ? [] : [everywhere])]
}

/** Returns a valid body in which every text without a fixed format is the name, and every free-form object has the name as a key. */
function sampleWithName(shape: Shape, name: string): unknown {
  const alternatives = shape.anyOf ?? shape.oneOf
  if (shape.const !== undefined || shape.enum) return sampleOf(shape)
  if (alternatives && !shape.properties) return sampleWithName(alternatives[0]!, name)
  switch ([shape.type].flat()[0]) {
    case 'object':
      return shape.properties
        ? Object.fromEntries(Object.entries(shape.properties).map(([key, inner]) => [key, sampleWithName(inner, name)]))
        : withOwnMember(name, withOwnMember(name, name))
    case 'array':
      return [sampleWithName(shape.items ?? {}, name)]
    case 'string':
      if (shape.format || (shape.pattern && !new RegExp(shape.pattern, 'u').test(name))) return undefined
      return name
    case undefined:
      return withOwnMember(name, withOwnMember(name, name))
    default:
      return sampleOf(shape)
  }
}

/** Returns whether a successful response is a stream, which would not end. */
const isStreamed = (path: string) => /event-stream|\/events$|\/streams$/.test(path)

/** Declares a test for each operation. `ask` is called when the tests run. */
export function testMemberNames(paths: Record<string, object>, ask: Ask) {
  for (const [path, item] of Object.entries(paths))
    for (const [method, operation] of Object.entries(item as Record<string, Operation>)) {
      const name = `${method.toUpperCase()} ${path} accepts the names of inherited members as data`
      if (isStreamed(path)) continue
      test(name, async () => {
        const pathParameters = operation.parameters.filter((parameter) => parameter.in === 'path')
        const url = (valueFor: (shape: Shape) => unknown) =>
          pathParameters.reduce(
            (text, { name, schema }) => text.replace(`{${name}}`, encodeURIComponent(String(valueFor(schema)))),
            `${method.toUpperCase()} ${path}`,
          )
        const body = operation.requestBody?.content['application/json']?.schema
        const valid = body && JSON.stringify(sampleOf(body))
        const json = { 'content-type': 'application/json' }
        const send = async (request: string, text = valid) => {
          const { status, text: answer } = await ask(request, text, text === undefined ? {} : json)
          assert.ok(status < 500, `${request} ${text}: ${status} ${answer}`)
        }

        for (const name of names) {
          const texts = operation.parameters.filter((part) => part.in === 'query' && part.schema.type === 'string')
          const query = texts.map((part) => `&${part.name}=${name}`).join('')
          const requests = [send(`${url(sampleOf)}?${name}=1`), send(`${url(sampleOf)}?${query}`)]
          if (pathParameters.length > 0) requests.push(send(url(() => name)))
          if (body) {
            requests.push(send(url(sampleOf), JSON.stringify(sampleWithName(body, name))))
            for (const text of textsWithKey(sampleOf(body), name)) requests.push(send(url(sampleOf), text))
          }
          await Promise.all(requests)
        }
      })
    }
}
