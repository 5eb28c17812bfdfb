/**
 * Replaces two slow steps of Swagger UI: it parses the document as YAML, and it normalises the whole document each time an operation is
 * opened. Together they take half a minute. A simple resolver is enough, because the document is JSON and refers only to its own parts.
 */
const ownDocument = () => ({
  fn: {
    async resolveSubtree(api, path) {
      return { spec: resolved(api, valueAt(api, path)), errors: [] }
    },
  },
  statePlugins: {
    spec: {
      wrapActions: {
        parseToJson:
          (_, { specActions, specSelectors }) =>
          (text) =>
            specActions.updateJsonSpec(JSON.parse(text ?? specSelectors.specStr())),
      },
    },
  },
})

const valueAt = (api, path) => path.reduce((value, key) => value?.[key], api)
const keyOf = (part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')

/** Replaces references with the schemas that they name. If a schema contains a reference to itself, that reference stays. */
function resolved(api, value, above = []) {
  if (Array.isArray(value)) return value.map((item) => resolved(api, item, above))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value
  if (typeof $ref !== 'string' || !$ref.startsWith('#/'))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(api, item, above)]))
  const target = valueAt(api, $ref.slice(2).split('/').map(keyOf))
  if (target === undefined || above.includes($ref)) return value
  return { ...resolved(api, target, [...above, $ref]), $$ref: $ref }
}

window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  // Credentials are kept only in memory, and the example commands do not show the token of the session.
  persistAuthorization: false,
  showMutatedRequest: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [ownDocument],
  layout: 'BaseLayout',
  requestInterceptor: (request) => window.waypostReference?.authorize(request) ?? request,
})
