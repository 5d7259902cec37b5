package io.leasehold.reactor;

import reactor.blockhound.BlockHound;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Allows BlockHound, if an application uses it, the one call that only appears to block: each attempt draws its owner
 * token from the random numbers of the operating system, which Java reads from a file that never blocks.
 */
public final class BlockHoundAllowance implements BlockHoundIntegration {

    /** Called by BlockHound, which finds it as a service. */
    public BlockHoundAllowance() {}

    @Override
    public void applyTo(BlockHound.Builder builder) {
        builder.allowBlockingCallsInside("io.leasehold.engine.SystemLockRuntime", "randomBytes");
    }
}
