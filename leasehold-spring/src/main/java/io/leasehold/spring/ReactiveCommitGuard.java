package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ReactiveTransaction;
import org.springframework.transaction.ReactiveTransactionManager;
import reactor.core.publisher.Mono;

/**
 * {@link CommitGuard} for reactive transactions: a listener of theirs does not see the context of the subscription, so this stands before the
 * manager itself, and rolls back what may not be committed.
 *
 * <p>Neither a commit nor a rollback ends with the subscription that is cancelled meanwhile, or by whose cancellation it begins: until it has, the
 * next holder could not see what it writes, so the body keeps its locks.
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
            // Subscribed to by itself, so that no cancellation reaches it.
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
