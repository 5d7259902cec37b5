package io.leasehold.kotlin

import io.leasehold.Hold
import io.leasehold.Lease
import io.leasehold.MultiLease
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.currentCoroutineContext

/**
 * The lease under which this coroutine runs: that of the innermost [withLease] of one lock around it.
 *
 * @throws IllegalStateException if it runs under none
 */
public suspend fun currentLease(): Lease = currentCoroutineContext()[OfLease]?.hold ?: throw under("no lease")

/**
 * The lease of several locks under which this coroutine runs: that of the innermost [withLease] of several locks around it.
 *
 * @throws IllegalStateException if it runs under none
 */
public suspend fun currentMultiLease(): MultiLease =
    currentCoroutineContext()[OfMultiLease]?.hold ?: throw under("no lease of several locks")

private fun under(none: String) =
    IllegalStateException("this coroutine runs under $none: call this inside withLease, in a coroutine of its scope")

/** The context of a block. */
@JvmSynthetic
internal fun holding(hold: Hold): CoroutineContext =
    if (hold is Lease) Held(hold, OfLease) else Held(hold as MultiLease, OfMultiLease)

private class Held<H : Hold>(val hold: H, override val key: CoroutineContext.Key<Held<H>>) : CoroutineContext.Element

private object OfLease : CoroutineContext.Key<Held<Lease>>

private object OfMultiLease : CoroutineContext.Key<Held<MultiLease>>
