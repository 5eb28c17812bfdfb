/** Addresses and version of the platform that served this page, read from the meta elements of the HTML document. */

const meta = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? ''

/** Public address of the platform, without a slash at the end. */
export const baseUrl = (meta('waypost-base') || location.origin).replace(/\/+$/, '')
export const version = meta('waypost-version')
/** Address of the script of the shared worker. */
export const workerPath = meta('waypost-worker')

/** Path of the console, such as `/console`; behind a proxy it can have a prefix. */
export const consolePath = `${new URL(baseUrl).pathname.replace(/\/+$/, '')}/console`

/** Returns the tenant of a path below the console, or undefined for the path of the console itself. */
export function tenantOf(path: string): string | undefined {
  const [tenant = ''] = path.slice(consolePath.length).split('/').filter(Boolean)
  try {
    const name = decodeURIComponent(tenant)
    return name !== '' && name !== '@' ? name : undefined
  } catch {
    return undefined
  }
}

/** Moves to the public address of the platform, because sign-in works only there. Returns false if the page already has this address. */
export function moveToPublicAddress(): boolean {
  if (location.origin === new URL(baseUrl).origin) return false
  location.replace(new URL(baseUrl).origin + location.pathname + location.search)
  return true
}
