/**
 * The script of pages that use a security key. The form has the options of WebAuthn as JSON in `data-options`; the response of the
 * browser goes into its field `credential`. It is a constant, because the content security policy has its hash.
 */
export const securityKeyScript = `
(() => {
  const form = document.getElementById('security-key')
  const options = JSON.parse(form.dataset.options)
  const bytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0))
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '')
  const withBytes = (list) => list && list.map((one) => ({ ...one, id: bytes(one.id) }))
  async function ask() {
    const publicKey = {
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: withBytes(options.allowCredentials),
      excludeCredentials: withBytes(options.excludeCredentials),
    }
    if (!options.user) return navigator.credentials.get({ publicKey })
    publicKey.user = { ...options.user, id: bytes(options.user.id) }
    return navigator.credentials.create({ publicKey })
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    ask().then(
      ({ id, rawId, type, response: given }) => {
        const response = {}
        for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
          if (given[name]) response[name] = text(given[name])
        if (given.getTransports) response.transports = given.getTransports()
        form.elements.credential.value =
          JSON.stringify({ id, rawId: text(rawId), type, response, clientExtensionResults: {} })
        form.submit()
      },
      () => { document.getElementById('key-problem').hidden = false },
    )
  })
})()
`
