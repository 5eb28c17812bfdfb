/** WebAuthn: creates options for the browser and checks its responses. The library is loaded at first use. */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { FactorRow } from '../store/second-factors.ts'
import type { User } from '../types.ts'

const load = () => import('@simplewebauthn/server')

/** Returns whether browsers support WebAuthn on our pages: only with a host name, and over HTTPS or on the local machine. */
export function isWebAuthnPossible(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl)
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && (protocol === 'https:' || hostname === 'localhost')
}

const descriptorOf = ({ credentialId, transports }: FactorRow) => ({
  id: credentialId!,
  transports: transports as AuthenticatorTransport[],
})
const keysIn = (factors: FactorRow[]) => factors.filter(({ kind }) => kind === 'webauthn')

export async function registrationOptions(baseUrl: string, issuer: string, user: User, factors: FactorRow[]) {
  const { generateRegistrationOptions } = await load()
  return await generateRegistrationOptions({
    rpName: issuer,
    rpID: new URL(baseUrl).hostname,
    userName: user.username,
    userID: Uint8Array.from(Buffer.from(user.id)),
    attestationType: 'none',
    excludeCredentials: keysIn(factors).map(descriptorOf),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
  })
}

export async function authenticationOptions(baseUrl: string, factors: FactorRow[]) {
  const { generateAuthenticationOptions } = await load()
  return await generateAuthenticationOptions({
    rpID: new URL(baseUrl).hostname,
    allowCredentials: keysIn(factors).map(descriptorOf),
    userVerification: 'discouraged',
  })
}

/** Returns the new credential, or undefined if the response is not valid. */
export async function verifyRegistration(baseUrl: string, challenge: string, response: string) {
  const { verifyRegistrationResponse } = await load()
  try {
    const { origin, hostname } = new URL(baseUrl)
    const { registrationInfo } = await verifyRegistrationResponse({
      response: JSON.parse(response) as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: hostname,
      requireUserVerification: false,
    })
    return registrationInfo?.credential
  } catch {
    // The library throws for every problem in the response, even for missing fields.
    return undefined
  }
}

/** Returns the factor that signed, with its new counter. Returns undefined if the response is not valid. */
export async function verifyAuthentication(baseUrl: string, challenge: string, response: string, factors: FactorRow[]) {
  const { verifyAuthenticationResponse } = await load()
  try {
    const { origin, hostname } = new URL(baseUrl)
    const parsed = JSON.parse(response) as AuthenticationResponseJSON
    const factor = keysIn(factors).find(({ credentialId }) => credentialId === parsed.id)
    if (!factor) return undefined
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: parsed,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: hostname,
      requireUserVerification: false,
      credential: {
        ...descriptorOf(factor),
        publicKey: Uint8Array.from(factor.publicKey!),
        counter: factor.counter,
      },
    })
    return verified ? { factor, counter: authenticationInfo.newCounter } : undefined
  } catch {
    return undefined
  }
}
