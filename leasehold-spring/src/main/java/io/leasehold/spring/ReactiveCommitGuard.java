package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ReactiveTransaction;
import org.springframework.transaction.ReactiveTransactionManager;
import reactor.core.publisher.Mono;

/**
 * The {@link CommitGuard} for reactive transactions. Their listeners do not see the context of the subscription, so
 * this interceptor wraps the manager itself, and rolls back transactions that must not be committed.
 *
 * <p>A cancellation of the subscription ends neither a commit nor a rollback, even if it has started the rollback.
 * Until the transaction has ended, the next holder could not see its writes; therefore the body keeps its locks.
 */
final class ReactiveCommitGuard implements MethodInterceptor {

    private final ReactiveTransactionManager manager;

    ReactiveCommitGuard(ReactiveTransactionManager manager) {
        this.manager = manager;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        if (invocation.getArguments().length != 1
                || !(invocation.getArguments()[0] instanceof ReactiveTransaction transaction)) {
            return invocation.proceed();
        }
        return switch (invocation.getMethod().getName()) {
            case "commit" -> kept(guarded(transaction));
            case "rollback" -> kept(Mono.defer(() -> manager.rollback(transaction)));
            default -> invocation.proceed();
        };
    }

    private static Mono<Void> kept(Mono<Void> end) {
        return Mono.deferContextual(context -> {
            Inside inside = context.getOrDefault(Inside.class, null);
            if (inside == null) {
                return end;
            }
            inside.enter();
            // Subscribed to separately, so that no cancellation reaches it.
            return Mono.fromFuture(
                    end.contextWrite(context)
                            .doFinally(signal -> inside.leave())
                            .toFuture(),
                    true);
        });
    }

    private Mono<Void> guarded(ReactiveTransaction transaction) {
        return Mono.deferContextual(context -> {
            LeaseScope scope = context.getOrDefault(LeaseScope.class, null);
            if (scope == null || transaction.isRollbackOnly()) {
                return manager.commit(transaction);
            }
            return Mono.fromFuture(scope.checkCommitAsync())
                    .onErrorResume(refused -> manager.rollback(transaction)
                            .onErrorMap(failed -> {
                                refused.addSuppressed(failed);
                                return refused;
                            })
                            .then(Mono.error(refused)))
                    .then(Mono.defer(() -> manager.commit(transaction)));
        });
    }
}
