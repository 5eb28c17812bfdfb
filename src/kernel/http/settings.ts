import { certificateSettings, defineSettings, type SettingsOf } from '../settings.ts'

export const httpsSettings = defineSettings(
  {
    HTTPS_PORT: {
      kind: 'optional port',
      default: 'off',
      meaning:
        'port of the HTTPS listener, which serves the same as the HTTP listener, with TLS 1.2 or newer; 0: any free port; ' +
        'off: no HTTPS',
    },
    HTTPS_CERTIFICATE_FILE: {
      kind: 'path',
      default: undefined,
      meaning:
        'PEM file with the certificate chain for HTTPS, read again when it changes; default: the certificate authority of ' +
        'the platform issues one',
    },
    HTTPS_KEY_FILE: {
      kind: 'path',
      default: undefined,
      meaning: 'PEM file with the private key of WAYPOST_HTTPS_CERTIFICATE_FILE',
    },
    HTTPS_HOSTS: {
      kind: 'text',
      default: '',
      meaning:
        'further host names and addresses in the certificate that the platform issues for HTTPS, separated by commas',
    },
    HTTPS_REDIRECT: {
      kind: 'switch',
      default: 'off',
      meaning:
        'on: HTTP requests are redirected to HTTPS (308), except requests that a proxy of WAYPOST_TRUST_PROXY received over ' +
        'HTTPS; health and metrics have a port of their own and are not redirected',
    },
    HTTP_COMPRESSION: {
      kind: 'switch',
      default: 'on',
      meaning:
        'on: responses of APIs over 1 KB are compressed (Brotli, gzip) for clients that accept it; off: useful behind a proxy that ' +
        'compresses responses itself',
    },
    HSTS_SECONDS: {
      kind: 'integer',
      default: '0',
      meaning:
        'seconds for which browsers use HTTPS only (Strict-Transport-Security, in responses over HTTPS); 0: no such header',
    },
  },
  (value) => ({
    port: value.HTTPS_PORT,
    ...certificateSettings(
      'HTTPS',
      { certificate: value.HTTPS_CERTIFICATE_FILE, key: value.HTTPS_KEY_FILE },
      value.HTTPS_HOSTS,
    ),
    redirect: value.HTTPS_REDIRECT,
    hstsSeconds: value.HSTS_SECONDS,
    compression: value.HTTP_COMPRESSION,
  }),
)
export type HttpsSettings = SettingsOf<typeof httpsSettings>
