package io.leasehold.kotlin

import io.leasehold.servers.RedisServer
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** A few hundred cancellations at random moments leave no key and no renewal. */
@Tag("quick")
class RandomCancellationTest {

    @Test
    fun `in memory`() = storm("memory:", 300, 1)

    @Test
    fun `on Redis`() = RedisServer.start().use { storm(it.uri(), 200, 2) }
}
