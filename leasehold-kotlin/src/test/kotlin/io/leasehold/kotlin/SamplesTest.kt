package io.leasehold.kotlin

import io.leasehold.Leasehold
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** The samples of the document: they stand here, too, and run. */
@Tag("quick")
class SamplesTest {

    private val locks = Leasehold.connect("memory:")
    private val lock = locks.named("order:1")
    private val order = "order:1"
    private var reports = 0

    @AfterEach
    fun close() = locks.close()

    private suspend fun pay(order: String, fencingToken: Long): String {
        delay(1)
        assertThat(fencingToken).isPositive()
        return "$order is paid"
    }

    private suspend fun report() {
        delay(1)
        reports++
    }

    @Test
    fun `a block under a lock`() = runBlocking<Unit> {
        val receipt = lock.withLease(3.seconds) { lease ->
            pay(order, lease.fencingToken())
        }
        assertThat(receipt).isEqualTo("order:1 is paid")
    }

    @Test
    fun `a block that does not run if the lock is busy`() = runBlocking<Unit> {
        val ran = lock.tryWithLease {
            report()
            true
        } ?: false
        assertThat(ran).isTrue()
        assertThat(reports).isOne()
    }

    @Test
    fun `several locks`() = runBlocking<Unit> {
        suspend fun transfer() = pay(order, currentMultiLease().fencingToken("account:1"))

        val receipt = locks.all("account:1", "account:2").withLease(3.seconds) { transfer() }
        assertThat(receipt).isEqualTo("order:1 is paid")
    }

    @Test
    fun `the document has these samples`() {
        val here = Files.readString(Path.of("src/test/kotlin/io/leasehold/kotlin/SamplesTest.kt")).unindented()
        val samples = Files.readString(Path.of("../docs/kotlin.md")).split("```kotlin\n").drop(1)
        assertThat(samples).hasSize(3)
        samples.forEach { assertThat(here).contains(it.substringBefore("```").unindented()) }
    }

    private fun String.unindented() = lines().joinToString("\n") { it.trim() }
}
