package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the operations that a store over one node passes on to that node unchanged. */
@Tag("quick")
final class PassedOnTest {

    private static final LockName NAME = LockName.exactly("n");

    private final LockRuntime runtime = new SystemLockRuntime();
    private final List<String> called = new ArrayList<>();
    private boolean atomic;

    private final StoreAdmin admin = new InMemoryNode(runtime).admin();

    private final LockNode node = (LockNode) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                called.add(method.getName() + (arguments == null ? "" : " " + Arrays.toString(arguments)));
                return switch (method.getName()) {
                    case "description" -> "the node";
                    case "isAtomicOver" -> atomic;
                    case "admin" -> admin;
                    case "renew" -> CompletableFuture.completedFuture(null);
                    case "operations" -> StoreOperations.none();
                    case "guarantees" -> new InMemoryNode(runtime).guarantees();
                    default -> null;
                };
            });

    private final SingleNodeStore store = new SingleNodeStore(node, runtime);

    @AfterEach
    void close() {
        runtime.close();
    }

    @Test
    void questionsAreTheNodes() {
        assertThat(store.description()).isEqualTo("the node");
        assertThat(store.guarantees()).isNotNull();
        assertThat(store.operations()).isNotNull();
        assertThat(store.admin()).isSameAs(admin);
        assertThat(store.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, OwnerToken.draw(runtime), 1)), 1)))
                .isCompleted();
        assertThat(called).hasSize(5);
        assertThat(store.isAtomicOver(List.of(NAME))).isFalse();
        atomic = true;
        assertThat(store.isAtomicOver(List.of(NAME))).isTrue();
    }

    @Test
    void aPassingNodePassesOnEveryVerbAndItsAnswer() throws ReflectiveOperationException {
        List<Object> answers = new ArrayList<>();
        LockNode answering = (LockNode) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                    called.add(method.getName() + (arguments == null ? "" : " " + Arrays.toString(arguments)));
                    answers.add(answer(method.getReturnType()));
                    return answers.get(0);
                });
        PassingNode passing = new PassingNode(answering) {};
        for (boolean yes : new boolean[] {true, false}) {
            atomic = yes;
            for (Method verb : LockNode.class.getMethods()) {
                called.clear();
                answers.clear();
                Object[] arguments = Arrays.stream(verb.getParameterTypes())
                        .map(type -> type == long.class ? (Object) 7L : null)
                        .toArray();
                Object answer = verb.invoke(passing, arguments);
                assertThat(called)
                        .as(verb.toString())
                        .containsExactly(
                                verb.getName() + (arguments.length == 0 ? "" : " " + Arrays.toString(arguments)));
                assertThat(answer).as(verb.toString()).isEqualTo(answers.get(0));
            }
        }
    }

    /** A value of this type, different from all others if the type allows that. */
    private @Nullable Object answer(Class<?> type) {
        if (type == void.class) {
            return null;
        }
        if (type == boolean.class) {
            return atomic;
        }
        if (type == String.class) {
            return "the node's";
        }
        if (type == CompletableFuture.class) {
            Object future = new CompletableFuture<>();
            return future;
        }
        if (type == Optional.class) {
            return Optional.of("the node's");
        }
        return type == StoreAdmin.class
                ? admin
                : type == StoreOperations.class ? StoreOperations.none() : new InMemoryNode(runtime).guarantees();
    }

    @Test
    void theEarOfAStoreIsTakenBackWhenItCloses() {
        StoreSignals ear = new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}

            @Override
            public String toString() {
                return "the ear";
            }
        };
        store.listen(ear);
        store.close();
        assertThat(called).containsExactly("listen [the ear]", "unlisten [the ear]", "close");
        called.clear();
        new SingleNodeStore(node, runtime).close();
        assertThat(called).containsExactly("close");
    }
}
