package io.leasehold.fencing;

import java.util.Objects;
import java.util.function.Consumer;

/** A guard that reports each answer of another one. */
record ObservedGuard(FencingGuard guard, Consumer<? super Admission> observer) implements FencingGuard {

    ObservedGuard {
        Objects.requireNonNull(observer, "observer");
    }

    @Override
    public Admission admit(String resource, long token) {
        return reported(guard.admit(resource, token));
    }

    @Override
    public Admission admit(String resource, long token, Access access) {
        return reported(guard.admit(resource, token, access));
    }

    private Admission reported(Admission admission) {
        observer.accept(admission);
        return admission;
    }
}
