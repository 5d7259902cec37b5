package io.leasehold.kotlin

import io.leasehold.servers.RedisServer
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** 10,000 cancellations at random moments leave no key and no renewal. */
@Tag("full")
class ManyRandomCancellationsTest {

    @Test
    fun `in virtual time`() = VirtualTimeTest().cancelAtAnyNanosecond(10_000)

    @Test
    fun `in memory`() = storm("memory:", 10_000, 3)

    @Test
    fun `on Redis`() = RedisServer.start().use { storm(it.uri(), 10_000, 4) }
}
