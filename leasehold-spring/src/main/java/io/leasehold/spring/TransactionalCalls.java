package io.leasehold.spring;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.SpringAsmInfo;
import org.springframework.asm.Type;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds locked methods that are called inside a transaction, as far as the byte code of the beans with locked methods
 * shows it: a method with {@code @Transactional} calls one of its own bean through the proxy, or one of another bean.
 */
final class TransactionalCalls extends ClassVisitor {

    /** Named by a string, since it is not always on the class path. */
    private static final String TRANSACTIONAL = "org.springframework.transaction.annotation.Transactional";

    /** The propagations with which a method does not run in a transaction that it has begun or found. */
    private static final Set<String> WITHOUT = Set.of("NOT_SUPPORTED", "NEVER", "SUPPORTS");

    private final Class<?> type;
    private final Map<String, Method> wanted;
    private final Set<String> transactional;
    private final Map<Method, String> found = new LinkedHashMap<>();

    private TransactionalCalls(Class<?> type, Map<String, Method> wanted, Set<String> transactional) {
        super(SpringAsmInfo.ASM_VERSION);
        this.type = type;
        this.wanted = wanted;
        this.transactional = transactional;
    }

    /** The called methods, each with one caller. */
    static Map<Method, String> in(Iterable<Class<?>> types, List<Method> locked) {
        Map<String, Method> wanted = new HashMap<>();
        locked.forEach(method -> wanted.put(
                Type.getInternalName(method.getDeclaringClass())
                        + key(method.getName(), Type.getMethodDescriptor(method)),
                method));
        Map<Method, String> all = new LinkedHashMap<>();
        types.forEach(type -> read(type, wanted).forEach(all::putIfAbsent));
        return all;
    }

    private static Map<Method, String> read(Class<?> type, Map<String, Method> wanted) {
        Set<String> transactional = new HashSet<>();
        ReflectionUtils.doWithLocalMethods(type, method -> {
            if (runsInTransaction(method)) {
                transactional.add(key(method.getName(), Type.getMethodDescriptor(method)));
            }
        });
        TransactionalCalls visitor = new TransactionalCalls(type, wanted, transactional);
        if (transactional.isEmpty()) {
            return Map.of();
        }
        try (InputStream code = type.getResourceAsStream(ClassUtils.getClassFileName(type))) {
            if (code != null) {
                new ClassReader(code).accept(visitor, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
            }
        } catch (IOException | IllegalArgumentException e) {
            return Map.of(); // a class that was generated at run time, or by a compiler that is newer than this reader
        }
        return visitor.found;
    }

    private static String key(String name, String descriptor) {
        return "." + name + descriptor;
    }

    private static boolean runsInTransaction(Method method) {
        String propagation = propagation(method);
        if (propagation == null) {
            propagation = propagation(method.getDeclaringClass());
        }
        return propagation != null && !WITHOUT.contains(propagation);
    }

    /** The propagation of the element's annotation, or null if it has none. */
    private static @Nullable String propagation(AnnotatedElement element) {
        MergedAnnotation<?> annotation =
                MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).get(TRANSACTIONAL);
        return annotation.isPresent()
                ? annotation.getValue("propagation").map(Object::toString).orElse("REQUIRED")
                : null;
    }

    /** Whether the method itself, and not only its class, has an annotation that begins a transaction. */
    static boolean isTransactional(Method method) {
        return propagation(method) != null;
    }

    /** Whether a method requires a transaction of its caller. */
    static boolean needsOuter(Method method) {
        return "MANDATORY".equals(propagation(method));
    }

    @Override
    public @Nullable MethodVisitor visitMethod(
            int access, String name, String descriptor, @Nullable String signature, String @Nullable [] exceptions) {
        return transactional.contains(key(name, descriptor)) ? new Calls(name) : null;
    }

    /**
     * The calls of one method; calls of its own class only if it handles an object of that class which may be its
     * proxy.
     */
    private final class Calls extends MethodVisitor {

        private final String caller;
        private final Map<Method, String> own = new LinkedHashMap<>();
        private final String self = Type.getInternalName(type);
        private boolean otherObject;

        Calls(String caller) {
            super(SpringAsmInfo.ASM_VERSION);
            this.caller = type.getSimpleName() + "." + caller;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            handled(descriptor);
            Method method = wanted.get(owner + key(name, descriptor));
            if (method != null) {
                (owner.equals(self) ? own : found).putIfAbsent(method, caller);
            }
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            handled(descriptor);
        }

        @Override
        public void visitTypeInsn(int opcode, String handled) {
            otherObject |= handled.equals(self);
        }

        private void handled(String descriptor) {
            otherObject |= descriptor.endsWith("L" + self + ";");
        }

        @Override
        public void visitEnd() {
            if (otherObject) {
                own.forEach(found::putIfAbsent);
            }
        }
    }
}
