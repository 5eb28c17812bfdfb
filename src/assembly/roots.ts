/** Where each service is served: its root, then the aliases that existing clients call (document 3, "Words and roots"). */
export const roots: Record<string, string[]> = {
  identity: ['/iam/api/v1'],
  'tenant-v1': ['/api/v1', '/tenant-manager/api/v1'],
  'tenant-v2': ['/tenant-manager/api/v2', '/api/v2'],
  application: ['/api/v1', '/tekton/api/v1'],
  token: ['/api/v1', '/cm/api/v1'],
  register: ['/epr/api/v1'],
  configuration: ['/ecr/api/v1'],
  credentials: ['/api/v1', '/ccm/api/v1'],
  certificates: ['/kpc/api/v1'],
  binary: ['/bcx/api/v1'],
  command: ['/cex/api/v1', '/rci/api/v1'],
  software: ['/otao/api/v1'],
  timeseries: ['/epts'],
  traffic: ['/api/v1/al', '/al/api/v1'],
  ingest: ['/asf/api/v1'],
  vpn: ['/vpms/api/v1'],
  rules: ['/re/api/v1'],
  assets: ['/am'],
  // Devices speak on topics below it (gateway/http): its own routes are none of people's.
  device: ['/kp1', '/kpc/kp1'],
  lorawan: ['/api/v1', '/netc/api/v1', '/ttnc/api/v1'],
}
