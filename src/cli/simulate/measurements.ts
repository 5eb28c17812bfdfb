/** Generates the measurements of a simulated device: plausible values that change a little each time. */

export interface Sample {
  timestamp: number
  temperature: number
  humidity: number
  battery: number
  latitude: number
  longitude: number
}

export interface World {
  sample(at: Date): Sample
}

const dayMs = 24 * 3600 * 1000
const rounded = (value: number, digits: number) => Number(value.toFixed(digits))
const between = (low: number, value: number, high: number) => Math.min(high, Math.max(low, value))

/** Creates measurements: warm in the afternoon, moving around a town, with a battery that is replaced when it is empty. */
export function createWorld(number: number, random: () => number = Math.random): World {
  const wander = (step: number) => (random() - 0.5) * step
  const baseTemperature = 18 + (number % 8)
  let drift = 0
  let battery = 60 + random() * 40
  let latitude = 50.45 + wander(0.2)
  let longitude = 30.52 + wander(0.3)
  return {
    sample(at) {
      const timestamp = at.getTime()
      const warmth = 5 * Math.sin(((timestamp % dayMs) / dayMs - 0.375) * 2 * Math.PI)
      drift = between(-2, drift + wander(0.4), 2)
      battery -= 0.01 + random() * 0.02
      if (battery < 5) battery = 100
      latitude = between(-89, latitude + wander(0.0005), 89)
      longitude = between(-179, longitude + wander(0.0008), 179)
      const temperature = baseTemperature + warmth + drift
      return {
        timestamp,
        temperature: rounded(temperature, 2),
        humidity: rounded(between(5, 75 - temperature * 1.2 + wander(3), 99), 1),
        battery: rounded(battery, 1),
        latitude: rounded(latitude, 5),
        longitude: rounded(longitude, 5),
      }
    },
  }
}
