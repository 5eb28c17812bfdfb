import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[], collect?: (gauge: Gauge) => void): Gauge
  histogram(name: string, help: string, labels: string[], buckets: number[]): Histogram
  text(): Promise<string>
  contentType: string
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'waypost_' })
  const common = { registers: [registry] }
  return {
    counter: (name, help, labelNames = []) => new Counter({ ...common, name, help, labelNames }),
    gauge: (name, help, labelNames = [], collect) =>
      new Gauge({
        ...common,
        name,
        help,
        labelNames,
        ...(collect && {
          collect() {
            collect(this)
          },
        }),
      }),
    histogram: (name, help, labelNames, buckets) => new Histogram({ ...common, name, help, labelNames, buckets }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
