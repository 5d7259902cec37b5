package io.leasehold.spring;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.Handle;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.asm.SpringAsmInfo;
import org.springframework.asm.Type;
import org.springframework.util.ClassUtils;

/**
 * Finds calls of locked methods by their own object, as far as the byte code shows them: calls from a method that
 * handles no object of the class other than {@code this}.
 */
final class SelfCalls extends ClassVisitor {

    private final String owner;
    private final Map<String, Method> wanted;
    private final Map<Method, String> found = new LinkedHashMap<>();

    private SelfCalls(Class<?> type, Map<String, Method> wanted) {
        super(SpringAsmInfo.ASM_VERSION);
        this.owner = Type.getInternalName(type);
        this.wanted = wanted;
    }

    /** The called methods, each with the name of one caller. */
    static Map<Method, String> in(Class<?> type, List<Method> methods) {
        Map<String, Method> wanted = new LinkedHashMap<>();
        methods.forEach(method -> wanted.put(method.getName() + Type.getMethodDescriptor(method), method));
        SelfCalls visitor = new SelfCalls(type, wanted);
        try (InputStream code = type.getResourceAsStream(ClassUtils.getClassFileName(type))) {
            if (code != null) {
                new ClassReader(code).accept(visitor, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
            }
        } catch (IOException | IllegalArgumentException e) {
            return Map.of(); // a class that was generated at run time, or by a compiler that is newer than this reader
        }
        return visitor.found;
    }

    @Override
    public @Nullable MethodVisitor visitMethod(
            int access, String name, String descriptor, @Nullable String signature, String @Nullable [] exceptions) {
        boolean lambda = name.startsWith("lambda$");
        String caller = lambda ? name.split("\\$", -1)[1] : name;
        boolean bridge = (access & (Opcodes.ACC_BRIDGE | Opcodes.ACC_STATIC)) != 0;
        return bridge || descriptor.contains("L" + owner + ";") ? null : new Calls(caller);
    }

    /**
     * The calls of one method; discarded if it handles an object of the class that may be another one, such as its
     * proxy.
     */
    private final class Calls extends MethodVisitor {

        private final String caller;
        private final Map<Method, String> calls = new LinkedHashMap<>();
        private boolean otherObject;

        Calls(String caller) {
            super(SpringAsmInfo.ASM_VERSION);
            this.caller = caller;
        }

        private void called(String type, String name, String descriptor) {
            Method method = wanted.get(name + descriptor);
            if (type.equals(owner) && method != null) {
                calls.putIfAbsent(method, caller);
            }
        }

        private void handled(String descriptor) {
            otherObject |= descriptor.endsWith("L" + owner + ";");
        }

        @Override
        public void visitMethodInsn(int opcode, String type, String name, String descriptor, boolean isInterface) {
            called(type, name, descriptor);
            handled(descriptor);
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            for (Object argument : arguments) {
                if (argument instanceof Handle handle) {
                    called(handle.getOwner(), handle.getName(), handle.getDesc());
                }
            }
        }

        @Override
        public void visitFieldInsn(int opcode, String type, String name, String descriptor) {
            handled(descriptor);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            otherObject |= type.equals(owner);
        }

        @Override
        public void visitEnd() {
            if (!otherObject) {
                calls.forEach(found::putIfAbsent);
            }
        }
    }
}
