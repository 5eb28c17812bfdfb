window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  // Credentials stay in memory, and the example commands do not show the token of the session.
  persistAuthorization: false,
  showMutatedRequest: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  requestInterceptor: (request) => window.waypostReference?.authorize(request) ?? request,
})
