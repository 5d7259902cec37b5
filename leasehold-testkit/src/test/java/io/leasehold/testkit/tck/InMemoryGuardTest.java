package io.leasehold.testkit.tck;

import io.leasehold.fencing.FencingGuard;
import org.junit.jupiter.api.Tag;

@Tag("quick")
final class InMemoryGuardTest implements FencingGuardTck {

    private final FencingGuard guard = FencingGuard.inMemory();

    @Override
    public FencingGuard guard() {
        return guard;
    }
}
