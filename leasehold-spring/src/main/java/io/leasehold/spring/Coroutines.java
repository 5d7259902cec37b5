package io.leasehold.spring;

import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicBoolean;
import kotlin.Unit;
import kotlin.coroutines.AbstractCoroutineContextElement;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlin.jvm.internal.Reflection;
import kotlin.reflect.KFunction;
import kotlin.reflect.jvm.ReflectJvmMapping;
import kotlinx.coroutines.Job;
import kotlinx.coroutines.ThreadContextElement;
import org.springframework.util.ClassUtils;

/**
 * Support for suspend functions. Behind a proxy Spring converts them to a {@code Mono}, in the context of their caller
 * and without its job, and their caller awaits it. They are therefore treated as publishers.
 *
 * <p>A cancellation of that {@code Mono} does not wait for the coroutine, which may be anywhere between two of its
 * suspensions: the coroutine counts as {@link Inside} until it has ended.
 */
final class Coroutines {

    private static final CoroutineContext.Key<Watch> WATCH = new CoroutineContext.Key<>() {};

    private Coroutines() {}

    /** Whether Spring's support for suspend functions is on the class path. */
    static boolean arePossible() {
        ClassLoader loader = Coroutines.class.getClassLoader();
        return ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", loader)
                && ClassUtils.isPresent("kotlin.reflect.full.KClasses", loader)
                && ClassUtils.isPresent("reactor.core.publisher.Mono", loader);
    }

    /** Whether a suspend function can return null, or nothing. */
    static boolean canSkip(Method method) {
        KFunction<?> function = ReflectJvmMapping.getKotlinFunction(method);
        return function != null
                && (function.getReturnType().isMarkedNullable()
                        || Reflection.getOrCreateKotlinClass(Unit.class)
                                .equals(function.getReturnType().getClassifier()));
    }

    /** Copies the arguments of a suspend function, so that its coroutine is tracked while it runs. */
    static Object[] watched(Object[] arguments, Inside inside) {
        Object[] watched = arguments.clone();
        int last = watched.length - 1;
        watched[last] = within((Continuation<?>) watched[last], new Watch(inside));
        return watched;
    }

    private static <T> Continuation<T> within(Continuation<T> continuation, Watch watch) {
        CoroutineContext context = continuation.getContext().plus(watch);
        return new Continuation<>() {
            @Override
            public CoroutineContext getContext() {
                return context;
            }

            @Override
            public void resumeWith(Object result) {
                continuation.resumeWith(result);
            }
        };
    }

    /**
     * Tracks the first coroutine that runs in its context, which is that of the function: coroutines of its scope end
     * earlier.
     */
    private static final class Watch extends AbstractCoroutineContextElement implements ThreadContextElement<Unit> {

        private final Inside inside;
        private final AtomicBoolean known = new AtomicBoolean();

        Watch(Inside inside) {
            super(WATCH);
            this.inside = inside;
        }

        @Override
        public Unit updateThreadContext(CoroutineContext context) {
            if (known.compareAndSet(false, true)) {
                Job coroutine = context.get(Job.Key);
                if (coroutine != null) {
                    inside.enter();
                    coroutine.invokeOnCompletion(error -> {
                        inside.leave();
                        return Unit.INSTANCE;
                    });
                }
            }
            return Unit.INSTANCE;
        }

        @Override
        public void restoreThreadContext(CoroutineContext context, Unit before) {
            // Nothing was changed.
        }
    }
}
