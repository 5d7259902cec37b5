package io.leasehold.kotlin

import io.leasehold.LeaseLostException
import io.leasehold.Leasehold
import io.leasehold.LockClient
import io.leasehold.LockListener
import io.leasehold.LockOptions
import io.leasehold.LossCause
import io.leasehold.memory.InMemoryNode
import io.leasehold.node.SingleNodeStore
import io.leasehold.testkit.virtual.FaultyNode
import io.leasehold.testkit.virtual.VirtualRuntime
import io.leasehold.testkit.virtual.VirtualWorld
import java.time.Duration.ofSeconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** Coroutines and locks in one virtual world: what takes minutes takes no time, and each seed is one order of all events. */
@Tag("quick")
class VirtualTimeTest {

    private val world = VirtualWorld.seeded(11)
    private val server: VirtualRuntime = world.process("server")
    private val node = InMemoryNode(server)
    private val mine = Process("mine")
    private val theirs = Process("theirs")

    private inner class Process(name: String) {
        val runtime: VirtualRuntime = world.process(name)
        val link = FaultyNode(node, runtime, server)
        var renewals = 0
        val locks: LockClient = Leasehold.builder()
            .store(SingleNodeStore(link, runtime))
            .runtime(runtime)
            .defaults(LockOptions.defaults().ttl(ofSeconds(10)))
            .listener(object : LockListener {
                override fun renewed(event: LockListener.Renewed) {
                    renewals++
                }
            })
            .connect()
        val scope = CoroutineScope(SupervisorJob() + WorldDispatcher(runtime))
    }

    @Test
    fun `a lease renews itself while its block is suspended`() {
        var held = false
        mine.scope.launch {
            mine.locks.named("a").withLease(3.seconds) {
                delay(5.minutes)
                held = it.isValid
            }
        }
        world.runFor(ofSeconds(301))
        assertThat(held).isTrue()
        assertThat(theirs.locks.admin().inspect("a")).isEmpty()
    }

    @Test
    fun `waiting coroutines get the lock in turn and within their patience`() {
        val order = mutableListOf<String>()
        mine.scope.launch {
            mine.locks.named("a").withLease(3.seconds) {
                order += "first"
                delay(20.seconds)
            }
        }
        world.runFor(ofSeconds(1))
        theirs.scope.launch {
            assertThat(theirs.locks.named("a").tryWithLease(5.seconds) { "ran" }).isNull()
            order += "busy"
            theirs.locks.named("a").withLease(1.minutes) { order += "second" }
        }
        world.runFor(ofSeconds(30))
        assertThat(order).containsExactly("first", "busy", "second")
    }

    @Test
    fun `a lease that cannot be renewed cancels its block before another client has the lock`() {
        var cancelledAt = 0L
        var othersAt = 0L
        var thrown: Throwable? = null
        mine.scope.launch {
            try {
                mine.locks.named("a").withLease(3.seconds) {
                    try {
                        awaitCancellation()
                    } finally {
                        cancelledAt = world.elapsedNanos()
                    }
                }
            } catch (e: LeaseLostException) {
                thrown = e
            }
        }
        world.runFor(ofSeconds(1))
        mine.link.refuseConnections()
        theirs.scope.launch { theirs.locks.named("a").withLease(1.minutes) { othersAt = world.elapsedNanos() } }
        world.runFor(ofSeconds(60))
        assertThat((thrown as LeaseLostException).lossCause()).isEqualTo(LossCause.EXPIRED)
        assertThat(cancelledAt).isPositive().isLessThan(othersAt)
    }

    @Test
    fun `a release that is not answered is waited for within its limit`() {
        var ended: String? = null
        mine.scope.launch {
            ended = mine.locks.named("a").withLease(3.seconds) {
                mine.link.refuseConnections()
                "done"
            }
        }
        world.runFor(ofSeconds(9))
        assertThat(ended).isEqualTo("done")
        mine.link.acceptConnections()
        world.runFor(ofSeconds(30))
        assertThat(theirs.locks.admin().inspect("a")).isEmpty()
    }

    @Test
    fun `a timeout around a wait leaves the queue`() {
        var inTime: String? = "none"
        mine.scope.launch { mine.locks.named("a").withLease(3.seconds) { delay(1.minutes) } }
        world.runFor(ofSeconds(1))
        theirs.scope.launch {
            inTime = withTimeoutOrNull(2.seconds) { theirs.locks.named("a").withLease(1.minutes) { "ran" } }
        }
        world.runFor(ofSeconds(10))
        assertThat(inTime).isNull()
        assertThat(theirs.locks.admin().waiters("a", 9)).isEmpty()
        world.runFor(ofSeconds(60))
        assertThat(theirs.locks.admin().inspect("a")).isEmpty()
    }

    @Test
    fun `cancellations at any nanosecond leave nothing and never two in a block`() = cancelAtAnyNanosecond(1_000)

    fun cancelAtAnyNanosecond(cancellations: Int) {
        var inside = 0
        var ran = 0
        repeat(cancellations) {
            val process = if (world.chance(0.5)) mine else theirs
            val job: Job = process.scope.launch {
                process.locks.named("a").withLease(1.minutes) {
                    assertThat(++inside).isOne()
                    ran++
                    try {
                        delay(world.randomBelow(5))
                    } finally {
                        inside--
                    }
                }
            }
            world.after(world.randomBelow(20_000_000).nanoseconds.toJavaDuration()) { job.cancel() }
            world.runFor(world.randomBelow(3_000_000).nanoseconds.toJavaDuration())
        }
        world.runFor(ofSeconds(1))
        assertThat(ran).isBetween(cancellations / 20, cancellations)
        assertThat(mine.scope.coroutineContext[Job]!!.children.toList()).isEmpty()
        assertThat(theirs.scope.coroutineContext[Job]!!.children.toList()).isEmpty()
        assertThat(mine.locks.admin().list("*", 9)).isEmpty()
        assertThat(mine.locks.admin().waiters("a", 9)).isEmpty()
        val before = mine.renewals + theirs.renewals
        world.runFor(ofSeconds(60))
        assertThat(mine.renewals + theirs.renewals).isEqualTo(before)
        mine.scope.cancel()
        theirs.scope.cancel()
    }
}
