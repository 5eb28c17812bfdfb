import { Type } from '../../../../kernel/schema.ts'
import { secretName } from '../names.ts'
import type { ActionTypeDefinition } from './action-type.ts'

const wait = { timeoutMs: 1000, maxAttempts: 1, backoffMultiplier: 2 }

const retryConfig = Type.Object(
  {
    maxAttempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 5,
        description: 'Number of attempts, including the first attempt. Default: 1.',
      }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 60_000,
        description: 'Wait between the first two attempts, in milliseconds. Default: 1000.',
      }),
    ),
    backoffMultiplier: Type.Optional(
      Type.Unsafe<number>({
        type: 'number',
        minimum: 2,
        maximum: 10,
        description: 'Each wait is this many times as long as the previous wait. Default: 2.',
      }),
    ),
  },
  { title: 'WebhookRetryConfig', description: 'Repetitions of a failed request. Default: none.' },
)

export const webhook: ActionTypeDefinition = {
  type: 'webhook',
  title: 'WebhookAction',
  description: 'Sends an HTTP POST request.',
  attributes: {
    webhookUrl: {
      description: 'The http or https URL to send the request to.',
      literal: 'text',
      required: true,
      problem: (value) => webhookUrlProblem(String(value), 'expected an http or https URL, or a script'),
    },
    headersExpression: {
      description: 'Headers of the request: an object of texts, numbers and booleans.',
      literal: 'object',
    },
    webhookPayloadExpression: {
      description: 'Body of the request: text as it is, other values as JSON. If absent: an empty body.',
      literal: 'text',
    },
  },
  fields: {
    retryConfig: Type.Optional(retryConfig),
    signingSecretName: Type.Optional(
      secretName('Name of a secret. If given, requests carry `X-Waypost-Signature`, an HMAC with its value.'),
    ),
  },
  needs: [],
  complete: ({ retryConfig, ...fields }) => ({
    ...fields,
    ...(retryConfig !== undefined && { retryConfig: { ...wait, ...(retryConfig as object) } }),
  }),
  example: {
    name: 'call the office',
    webhookUrl: 'https://example.org/hooks/heat',
    webhookPayloadExpression: 'return JSON.stringify({ endpoint: ctx.endpoint.endpointId })',
    retryConfig: { maxAttempts: 3 },
  },
}

/** Returns the problem with a constant URL that every delivery to it would have. */
export function webhookUrlProblem(text: string, expected = 'expected an http or https URL'): string | undefined {
  if (!URL.canParse(text)) return expected
  const { protocol, hostname, username, password } = new URL(text)
  if ((protocol !== 'http:' && protocol !== 'https:') || hostname === '') return expected
  return username === '' && password === '' ? undefined : 'must not contain a user name or password'
}
