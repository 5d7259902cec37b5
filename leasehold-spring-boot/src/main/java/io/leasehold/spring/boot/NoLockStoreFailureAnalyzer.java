package io.leasehold.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains how to configure a store. */
final class NoLockStoreFailureAnalyzer extends AbstractFailureAnalyzer<NoLockStoreException> {

    NoLockStoreFailureAnalyzer() {}

    @Override
    public FailureAnalysis analyze(Throwable failure, NoLockStoreException cause) {
        return new FailureAnalysis(cause.getMessage() + ".", cause.cure() + ".", cause);
    }
}
