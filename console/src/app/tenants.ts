/** Names of tenants that were opened in this browser, the latest first. */
const key = 'waypost.tenants'
const namesMax = 5

export function recentTenants(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter((name) => typeof name === 'string').slice(0, namesMax) : []
  } catch {
    return []
  }
}

export function rememberTenant(tenant: string) {
  try {
    const names = [tenant, ...recentTenants().filter((name) => name !== tenant)]
    localStorage.setItem(key, JSON.stringify(names.slice(0, namesMax)))
  } catch {
    // The browser denies storage. At the next login, the user types the name of the tenant again.
  }
}
