import { count } from '../../parts/texts.ts'

export const texts = {
  title: 'Map',
  lead: 'Endpoints with a place in their metadata, or in a time series.',
  application: 'Application',
  allApplications: 'All applications',
  map: 'Map of endpoints',
  view: 'Show as',
  asMap: 'Map',
  asTable: 'Table',
  shown: (number: number) => (number === 1 ? '1 endpoint in this area' : `${count(number)} endpoints in this area`),
  emptyArea: 'No endpoint has a place in this area.',
  emptyHow:
    'The place of an endpoint is in its metadata, for example latitude and longitude, or location.lat and location.lon. It can also come from a time series.',
  showWorld: 'Show the whole world',
  columns: { endpoint: 'Endpoint', latitude: 'Latitude', longitude: 'Longitude', count: 'Endpoints' },
  cluster: (number: number) => `${count(number)} endpoints close to each other`,
  zoom: 'Zoom in',
  loading: 'Loading the map',
}
