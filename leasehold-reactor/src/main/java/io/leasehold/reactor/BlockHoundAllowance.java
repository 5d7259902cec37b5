package io.leasehold.reactor;

import reactor.blockhound.BlockHound;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Tells BlockHound, where an application uses it, of the one call that only looks as if it blocked: each attempt draws its owner
 * token from the random numbers of the operating system, which Java reads from a file that never makes a reader wait.
 */
public final class BlockHoundAllowance implements BlockHoundIntegration {

    /** For BlockHound, which finds it as a service. */
    public BlockHoundAllowance() {}

    @Override
    public void applyTo(BlockHound.Builder builder) {
        builder.allowBlockingCallsInside("io.leasehold.engine.SystemLockRuntime", "randomBytes");
    }
}
