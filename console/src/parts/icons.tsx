/** Icons of the console: 24 × 24, drawn with lines. They are decoration only, because a text beside each icon has the same meaning. */

const paths = {
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  alert: 'M12 4 2.5 20h19zM12 10v4M12 17.2v.1',
  arrowDown: 'M12 5v14M6 13l6 6 6-6',
  arrowRight: 'M5 12h14M13 6l6 6-6 6',
  arrowUp: 'M12 19V5M6 11l6-6 6 6',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4',
  boxes:
    'M7.5 12.5 3 15v4.5L7.5 22l4.5-2.5V15zM16.5 12.5 12 15v4.5l4.5 2.5 4.5-2.5V15zM12 2 7.5 4.5V9l4.5 2.5L16.5 9V4.5z',
  building: 'M5 21V4h9v17M14 9h5v12M3 21h18M8 8h3M8 12h3M8 16h3',
  calendar: 'M4 6h16v15H4zM4 10h16M8 3v4M16 3v4',
  chart: 'M4 4v16h16M8 15l3-4 3 2 5-7',
  check: 'M5 12.5 10 17.5 19.5 7',
  chevronDown: 'M6 9l6 6 6-6',
  chevronLeft: 'M15 6l-6 6 6 6',
  chevronRight: 'M9 6l6 6-6 6',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3 2',
  cloud: 'M7 18a4.5 4.5 0 0 1 0-9 6 6 0 0 1 11.5 1.5A3.8 3.8 0 0 1 18 18z',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  columns: 'M4 4h16v16H4zM9.5 4v16M15 4v16',
  command: 'M4 6l6 6-6 6M12 18h8',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  cpu: 'M7 7h10v10H7zM10 10h4v4h-4zM9 3v4M15 3v4M9 17v4M15 17v4M3 9h4M3 15h4M17 9h4M17 15h4',
  dashboard: 'M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z',
  database:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  eye: 'M2 12s3.5-7 10-7 10 7 10 7-3.5 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  file: 'M6 3h8l5 5v13H6zM14 3v5h5',
  filter: 'M3 5h18l-7 8v6l-4 2v-8z',
  fork: 'M6 4v10M6 14a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 4a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 10c0 5-8 3-11 5',
  gauge: 'M4.5 18a9 9 0 1 1 15 0M12 14l4-5M12 14h.1',
  gear: 'M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M5.3 18.7l2.1-2.1M16.6 7.4l2.1-2.1',
  globe: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9S9 6 12 3z',
  grip: 'M9 6h.1M15 6h.1M9 12h.1M15 12h.1M9 18h.1M15 18h.1',
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4z',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.6v.1',
  key: 'M8 11a5 5 0 1 0 0 8 5 5 0 0 0 0-8zM11.5 11.5 20 3M16 7l3 3M14 9l2 2',
  keyboard: 'M2.5 6h19v12h-19zM6 10h.1M9 10h.1M12 10h.1M15 10h.1M18 10h.1M7 14h10',
  layers: 'M12 3 3 8l9 5 9-5zM3 12.5l9 5 9-5M3 17l9 5 9-5',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  list: 'M8 6h13M8 12h13M8 18h13M3.5 6h.1M3.5 12h.1M3.5 18h.1',
  lock: 'M5 11h14v10H5zM8 11V8a4 4 0 0 1 8 0v3',
  logOut: 'M10 4H4v16h6M15 8l4 4-4 4M19 12H9',
  map: 'M9 4 3 6.5V20l6-2.5 6 2.5 6-2.5V4l-6 2.5zM9 4v13.5M15 6.5V20',
  maximize: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  minus: 'M5 12h14',
  monitor: 'M3 4h18v12H3zM9 20h6M12 16v4',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4 6.7 6.7 0 0 0 20 14.5z',
  more: 'M4.5 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0M11.4 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0M18.3 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0',
  package: 'M12 3 4 7.2v9.6L12 21l8-4.2V7.2zM4 7.2l8 4.3 8-4.3M12 11.5V21M8 5l8 4.4',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4.5v15l12-7.5z',
  plus: 'M12 5v14M5 12h14',
  radio:
    'M12 10.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM8 16a5.6 5.6 0 0 1 0-8M16 8a5.6 5.6 0 0 1 0 8M5 19a10 10 0 0 1 0-14M19 5a10 10 0 0 1 0 14',
  redo: 'M16 5l4 4-4 4M20 9h-9.500a5.500 5.500 0 0 0 0 11H14',
  refresh: 'M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4v5.5h5.5M4 13a8 8 0 0 0 14.5 4l2.5-2.500M21 20v-5.500h-5.5',
  scroll: 'M6 3h11v15a3 3 0 0 0 3 3H8a3 3 0 0 1-3-3V4M9 8h5M9 12h5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  send: 'M21 3 10 14M21 3l-7 18-4-7-7-4z',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.1M8 16.500h.1',
  shield: 'M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6zM9 12l2 2 4-4',
  sliders: 'M5 4v7M5 15v5M12 4v3M12 11v9M19 4v9M19 17v3M2.5 13h5M9.5 9h5M16.5 15h5',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.500v2M12 19.500v2M2.5 12h2M19.5 12h2M5.3 5.300l1.4 1.400M17.3 17.300l1.4 1.400M5.3 18.700l1.4-1.400M17.3 6.700l1.4-1.4',
  table: 'M4 5h16v14H4zM4 10h16M10 10v9',
  tag: 'M3 4h8l10 10-7 7L4 11zM7.5 8h.1',
  terminal: 'M3 5h18v14H3zM7 9l3 3-3 3M12.5 15H17',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  type: 'M5 7V4h14v3M12 4v16M9 20h6',
  undo: 'M8 5 4 9l4 4M4 9h9.500a5.500 5.500 0 0 1 0 11H10',
  unplug:
    'M7 12l5 5M4.5 19.500l3-3a4 4 0 0 0 4-1M16.5 7.500l3-3M12 7l5 5M12.5 8.500a4 4 0 0 1 4-1M9 12l-2 2M12 15l-2 2M17 12l-1.5 1.5',
  upload: 'M12 16V5M7 9l5-5 5 5M4 20h16',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c0-4 3.6-6 8-6s8 2 8 6',
  users:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM2.5 20c0-3.5 2.9-5.5 6.5-5.500s6.5 2 6.5 5.500M16 5.200a3.5 3.5 0 0 1 0 6.600M17.5 14.800c2.4.6 4 2.4 4 5.2',
  waypost: 'M12 2v3M12 12v10M5 5h12l3 3.500L17 12H5z',
  wifi: 'M2.5 9a14 14 0 0 1 19 0M5.5 12.500a9.5 9.5 0 0 1 13 0M8.5 16a5 5 0 0 1 7 0M12 19.500h.1',
  x: 'M6 6l12 12M18 6 6 18',
  zap: 'M13 2 4 14h7l-1 8 9-12h-7z',
}

export type IconName = keyof typeof paths

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  )
}
