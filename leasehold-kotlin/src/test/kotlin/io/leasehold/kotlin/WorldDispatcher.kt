@file:OptIn(InternalCoroutinesApi::class, ExperimentalCoroutinesApi::class)

package io.leasehold.kotlin

import io.leasehold.testkit.virtual.VirtualRuntime
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Delay
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Runnable

/** Coroutines that live in the virtual world of the locks: one thread, one clock, one seed. */
internal class WorldDispatcher(private val process: VirtualRuntime) : CoroutineDispatcher(), Delay {

    override fun dispatch(context: CoroutineContext, block: Runnable) = process.execute { block.run() }

    override fun scheduleResumeAfterDelay(timeMillis: Long, continuation: CancellableContinuation<Unit>) {
        val timer = process.schedule(timeMillis * 1_000_000) { with(continuation) { resumeUndispatched(Unit) } }
        continuation.invokeOnCancellation { timer.cancel() }
    }

    override fun invokeOnTimeout(timeMillis: Long, block: Runnable, context: CoroutineContext): DisposableHandle {
        val timer = process.schedule(timeMillis * 1_000_000) { block.run() }
        return DisposableHandle { timer.cancel() }
    }
}
